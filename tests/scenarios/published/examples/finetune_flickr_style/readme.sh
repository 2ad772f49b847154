#!/usr/bin/env sh
# The commands of the example's page, on the CPU.
set -e

python3 examples/finetune_flickr_style/assemble_data.py --workers=1 --images=2000 --seed 831486
./build/tools/caffe train -solver examples/finetune_flickr_style/flickr_style_solver.prototxt -weights models/bvlc_reference_caffenet/bvlc_reference_caffenet.caffemodel
