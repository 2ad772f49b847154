#!/bin/bash
# parse_log.sh LOG writes two tables into the working directory:
#     LOG.test    #Iters Seconds TestAccuracy TestLoss
#     LOG.train   #Iters Seconds TrainingLoss LearningRate
# Like the published script it finds its lines by their words, and the values by their columns.
if [ "$#" -lt 1 ]; then
  echo "Usage parse_log.sh /path/to/your.log"
  exit
fi
NAME=$(basename "$1")
SECONDS_OF='function seconds(t,  p) { split(t, p, ":"); return p[1] * 3600 + p[2] * 60 + p[3] }'

echo '#Iters Seconds TestAccuracy TestLoss' > "$NAME.test"
awk "$SECONDS_OF"'
  /\] Solving / { start = seconds($2) }
  /Iteration .* Testing net/ { iteration = $6; sub(",", "", iteration); time = seconds($2) }
  /Test net output #0/ { accuracy = $11 }
  /Test net output #1/ { print iteration, time - start, accuracy, $11 }' "$1" >> "$NAME.test"

echo '#Iters Seconds TrainingLoss LearningRate' > "$NAME.train"
awk "$SECONDS_OF"'
  /\] Solving / { start = seconds($2) }
  /, loss = / { iteration = $6; sub(",", "", iteration); time = seconds($2); loss = $NF }
  /, lr = / { print iteration, time - start, loss, $9 }' "$1" >> "$NAME.train"
