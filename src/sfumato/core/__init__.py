"""What all other rooms use: errors, randomness, keys, settings, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.core.errors import BadInput as BadInput
    from sfumato.core.errors import BudgetExceeded as BudgetExceeded
    from sfumato.core.errors import CannotResume as CannotResume
    from sfumato.core.errors import CannotUnseal as CannotUnseal
    from sfumato.core.errors import CoupledRows as CoupledRows
    from sfumato.core.errors import IncomparableGuarantees as IncomparableGuarantees
    from sfumato.core.errors import InputChanged as InputChanged
    from sfumato.core.errors import InvalidArgument as InvalidArgument
    from sfumato.core.errors import MalformedRecord as MalformedRecord
    from sfumato.core.errors import MalformedVectors as MalformedVectors
    from sfumato.core.errors import MissingAccount as MissingAccount
    from sfumato.core.errors import MissingExtra as MissingExtra
    from sfumato.core.errors import MissingInput as MissingInput
    from sfumato.core.errors import MissingModel as MissingModel
    from sfumato.core.errors import MissingRight as MissingRight
    from sfumato.core.errors import MissingToken as MissingToken
    from sfumato.core.errors import OutcomeForgotten as OutcomeForgotten
    from sfumato.core.errors import OutputExists as OutputExists
    from sfumato.core.errors import ServiceFailed as ServiceFailed
    from sfumato.core.errors import ServiceUnavailable as ServiceUnavailable
    from sfumato.core.errors import SfumatoError as SfumatoError
    from sfumato.core.errors import StorageFailed as StorageFailed
    from sfumato.core.errors import TookTooLong as TookTooLong
    from sfumato.core.errors import UndecodableText as UndecodableText
    from sfumato.core.errors import UndefinedGradient as UndefinedGradient
    from sfumato.core.errors import UnknownName as UnknownName
    from sfumato.core.errors import UnknownWords as UnknownWords
    from sfumato.core.errors import UnsteadyGradient as UnsteadyGradient
    from sfumato.core.errors import UnsupportedLayer as UnsupportedLayer
    from sfumato.core.keys import Key as Key
    from sfumato.core.randomness import Randomness as Randomness
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.core.errors": (
                "BadInput BudgetExceeded CannotResume CannotUnseal CoupledRows "
                "IncomparableGuarantees InputChanged InvalidArgument "
                "MalformedRecord MalformedVectors MissingAccount MissingExtra "
                "MissingInput MissingModel MissingRight MissingToken "
                "OutcomeForgotten OutputExists ServiceFailed ServiceUnavailable "
                "SfumatoError StorageFailed TookTooLong UndecodableText "
                "UndefinedGradient UnknownName UnknownWords UnsteadyGradient UnsupportedLayer "
            ),
            "sfumato.core.keys": "Key",
            "sfumato.core.randomness": "Randomness",
        },
    )

__all__ = [
    "BadInput",
    "BudgetExceeded",
    "CannotResume",
    "CannotUnseal",
    "CoupledRows",
    "IncomparableGuarantees",
    "InputChanged",
    "InvalidArgument",
    "Key",
    "MalformedRecord",
    "MalformedVectors",
    "MissingAccount",
    "MissingExtra",
    "MissingInput",
    "MissingModel",
    "MissingRight",
    "MissingToken",
    "OutcomeForgotten",
    "OutputExists",
    "Randomness",
    "ServiceFailed",
    "ServiceUnavailable",
    "SfumatoError",
    "StorageFailed",
    "TookTooLong",
    "UndecodableText",
    "UndefinedGradient",
    "UnknownName",
    "UnknownWords",
    "UnsteadyGradient",
    "UnsupportedLayer",
]
