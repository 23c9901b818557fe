"""Kubernetes: an indexed Job with one pod a node. Source: the Job and Pod API of Kubernetes 1.32."""

from __future__ import annotations

import json
import math

from doctor.fleet.launchers import Launch, Order, OrderIncomplete

NAME = "lora-doctor"
FILE = "lora-doctor-job.yaml"
PENDING_S = 600  # that a pod may wait for its node and its image

# Text in braces is JSON, which is YAML as well. A pod that fails is no node's answer: another one is
# tried while the limit lasts, and the others go on.
MANIFEST = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {nodes}
  parallelism: {nodes}
  backoffLimit: {nodes}
  activeDeadlineSeconds: {deadline}
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        app: {name}
    spec:
      restartPolicy: Never
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app: {name}
      containers:
        - name: node
          image: {image}
          command: {command}
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          resources:
            limits:
              nvidia.com/gpu: {gpus}
          volumeMounts:
            - name: shm
              mountPath: /dev/shm
      volumes:
        - name: shm
          emptyDir:
            medium: Memory
"""


def launch(order: Order) -> Launch:
    """A manifest, and the commands that apply it and read its logs."""
    if not order.nodes:
        raise OrderIncomplete("a Job must be told how many nodes there are", "say it: --nodes N")
    if not order.image:
        raise OrderIncomplete(
            "a Job needs the image that trains, with lora-doctor in it", "name it: --image REGISTRY/IMAGE:TAG"
        )
    deadline = math.ceil(order.deadline_s) + PENDING_S
    text = MANIFEST.format(
        name=NAME,
        nodes=order.nodes,
        deadline=deadline,
        image=json.dumps(order.image),
        command=json.dumps(order.part()),
        gpus=order.ranks or 1,
    )
    return Launch(file_name=FILE, text=text, commands=commands(order, deadline))


def commands(order: Order, deadline_s: int) -> tuple[str, ...]:
    """Apply, wait for the end or the limit, read what every pod said."""
    logs = f"kubectl logs --selector=job-name={NAME} --tail=-1 --ignore-errors"
    compare = f"lora-doctor fleet compare - --expect {order.nodes}"
    return (
        f"kubectl apply -f {FILE}",
        f"kubectl wait --for=condition=complete --timeout={deadline_s}s job/{NAME}",
        f"{logs} --max-log-requests={order.nodes} | {compare}",
        f"kubectl delete job {NAME}",
    )
