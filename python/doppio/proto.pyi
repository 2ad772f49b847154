from typing import Any

caffe_pb2: Any
