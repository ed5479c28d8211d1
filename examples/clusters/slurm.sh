#!/bin/bash
# Scores a stream on several nodes of a Slurm cluster: sbatch examples/clusters/slurm.sh
# The captions, the references and the work folder are on storage that all nodes see.
#SBATCH --job-name=cidery
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=02:00:00
# The same job goes on where it was stopped: let Slurm start it again.
#SBATCH --requeue
#SBATCH --open-mode=append

set -euo pipefail

folder="${CIDERY_FOLDER:?set CIDERY_FOLDER to the shared folder}"
head_node="$(scontrol show hostnames "${SLURM_JOB_NODELIST}" | head -n 1)"
address="${head_node}:6379"

# Other users of the nodes cannot join: all of Ray's processes, and cidery, have this job's token.
export RAY_AUTH_MODE=token
export RAY_AUTH_TOKEN_PATH="${folder}/ray-token.${SLURM_JOB_ID}"
(umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"${RAY_AUTH_TOKEN_PATH}")
trap 'rm -f "${RAY_AUTH_TOKEN_PATH}"' EXIT

srun --nodes=1 --ntasks=1 --nodelist="${head_node}" \
  ray start --head --port=6379 --num-cpus="${SLURM_CPUS_PER_TASK}" --block &
# The others join as soon as the head answers.
until srun --overlap --nodes=1 --ntasks=1 --nodelist="${head_node}" \
  ray status --address="${address}" >/dev/null 2>&1; do
  sleep 2
done
srun --nodes="$((SLURM_JOB_NUM_NODES - 1))" --ntasks="$((SLURM_JOB_NUM_NODES - 1))" \
  --exclude="${head_node}" \
  ray start --address="${address}" --num-cpus="${SLURM_CPUS_PER_TASK}" --block &

srun --overlap --nodes=1 --ntasks=1 --nodelist="${head_node}" \
  cidery score "${folder}/samples" "${folder}/references" \
  --engine ray --address "${address}" \
  --captions "${folder}/scores" --work "${folder}/work" --format json
