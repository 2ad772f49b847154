#!/usr/bin/env sh
# The commands of the example's page.
set -e

mkdir examples/_temp
find `pwd`/examples/images -type f -exec echo {} \; > examples/_temp/temp.txt
sed "s/$/ 0/" examples/_temp/temp.txt > examples/_temp/file_list.txt
cp examples/feature_extraction/imagenet_val.prototxt examples/_temp
./build/tools/extract_features.bin models/bvlc_reference_caffenet/bvlc_reference_caffenet.caffemodel examples/_temp/imagenet_val.prototxt fc7 examples/_temp/features 10 leveldb
./build/tools/extract_features.bin models/bvlc_reference_caffenet/bvlc_reference_caffenet.caffemodel examples/_temp/imagenet_val.prototxt fc7,prob examples/_temp/features_fc7,examples/_temp/features_prob 10 lmdb
rm -rf examples/_temp/features/
