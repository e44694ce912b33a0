"""Where torch computes: on the processor, or on a graphics card.

The code is the same for both. No graphics card is needed for any test of sfumato: what would run on
one is tested for shape and precision on tensors without numbers, and no figure in the documentation
comes from one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from torch import nn

CPU, CUDA = "cpu", "cuda"


def check_device(device: str) -> str:
    """The name of a device: ``cpu``, ``cuda`` or ``cuda:1``; an error if it is no such name."""
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if device == CPU or (kind == CUDA and (device == CUDA or number.isdecimal())):
        return device
    raise InvalidArgument(f"`device={device!r}` must be 'cpu', 'cuda', or one of several: 'cuda:1'")


def require_device(device: str) -> None:
    """Refuse a device that this machine does not have."""
    import torch

    if check_device(device) != CPU and int(device.partition(":")[2] or 0) >= (
        torch.cuda.device_count()
    ):
        raise InvalidArgument(f"`device={device!r}`: torch finds no such device here; leave it out")


def move(network: nn.Module, device: str) -> None:
    """Move a network to a device that is there."""
    require_device(device)
    network.to(device)
