"""Training with a proven guarantee: plans, steps, methods, runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.training.batches import PhysicalBatch as PhysicalBatch
    from sfumato.training.batches import physical_batches as physical_batches
    from sfumato.training.clipping.clippers import Adaptive as Adaptive
    from sfumato.training.clipping.clippers import Automatic as Automatic
    from sfumato.training.clipping.clippers import Clipping as Clipping
    from sfumato.training.clipping.clippers import Flat as Flat
    from sfumato.training.clipping.directional import DirectionalRelease as DirectionalRelease
    from sfumato.training.clipping.directional import PerRecordRelease as PerRecordRelease
    from sfumato.training.clipping.layers.layer import Role as Role
    from sfumato.training.clipping.layers.linear import RecordedLinear as RecordedLinear
    from sfumato.training.clipping.layers.rules import check_layer as check_layer
    from sfumato.training.clipping.layers.rules import register_layer as register_layer
    from sfumato.training.clipping.losses import next_tokens as next_tokens
    from sfumato.training.clipping.losses import record_losses as record_losses
    from sfumato.training.clipping.recording import Recording as Recording
    from sfumato.training.clipping.release import GaussianRelease as GaussianRelease
    from sfumato.training.clipping.release import GradientRelease as GradientRelease
    from sfumato.training.clipping.slots import Records as Records
    from sfumato.training.evaluation import Evaluation as Evaluation
    from sfumato.training.evaluation import predict_labels as predict_labels
    from sfumato.training.evaluation import predict_tokens as predict_tokens
    from sfumato.training.loop import fit as fit
    from sfumato.training.methods.base import Task as Task
    from sfumato.training.methods.base import TokenMaterial as TokenMaterial
    from sfumato.training.methods.base import TrainingMethod as TrainingMethod
    from sfumato.training.methods.base import prepare_steps as prepare_steps
    from sfumato.training.methods.directional import Directional as Directional
    from sfumato.training.methods.directional import DirectionalPlan as DirectionalPlan
    from sfumato.training.methods.directional import PerRecord as PerRecord
    from sfumato.training.methods.interleaved import Interleaved as Interleaved
    from sfumato.training.methods.interleaved import InterleavedPlan as InterleavedPlan
    from sfumato.training.methods.interleaved import Visits as Visits
    from sfumato.training.methods.plain import Plain as Plain
    from sfumato.training.methods.private import Private as Private
    from sfumato.training.methods.redacted import Redacted as Redacted
    from sfumato.training.methods.selective import SelectiveTraining as SelectiveTraining
    from sfumato.training.methods.twice import Twice as Twice
    from sfumato.training.plan import Plan as Plan
    from sfumato.training.plan import PrivacyCaution as PrivacyCaution
    from sfumato.training.plan import TrainingPlan as TrainingPlan
    from sfumato.training.records import Cut as Cut
    from sfumato.training.records import TokenRecords as TokenRecords
    from sfumato.training.records import make_labeled_records as make_labeled_records
    from sfumato.training.records import make_language_records as make_language_records
    from sfumato.training.records import make_tagged_records as make_tagged_records
    from sfumato.training.run import Run as Run
    from sfumato.training.sampling import Poisson as Poisson
    from sfumato.training.sampling import Shuffled as Shuffled
    from sfumato.training.settings import Course as Course
    from sfumato.training.settings import Privacy as Privacy
    from sfumato.training.settings import Training as Training
    from sfumato.training.stages import Schedule as Schedule
    from sfumato.training.stages import Stage as Stage
    from sfumato.training.stages import decreasing_noise as decreasing_noise
    from sfumato.training.stages import geometric as geometric
    from sfumato.training.stages import growing_batches as growing_batches
    from sfumato.training.steps import PlainStep as PlainStep
    from sfumato.training.steps import PrivateStep as PrivateStep
    from sfumato.training.steps import make_private as make_private
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.training.batches": "PhysicalBatch physical_batches",
            "sfumato.training.clipping.clippers": "Adaptive Automatic Clipping Flat",
            "sfumato.training.clipping.layers.layer": "Role",
            "sfumato.training.clipping.layers.linear": "RecordedLinear",
            "sfumato.training.clipping.layers.rules": "check_layer register_layer",
            "sfumato.training.clipping.losses": "next_tokens record_losses",
            "sfumato.training.clipping.recording": "Recording",
            "sfumato.training.clipping.directional": "DirectionalRelease PerRecordRelease",
            "sfumato.training.clipping.release": "GaussianRelease GradientRelease",
            "sfumato.training.clipping.slots": "Records",
            "sfumato.training.evaluation": "Evaluation predict_labels predict_tokens",
            "sfumato.training.loop": "fit",
            "sfumato.training.methods.base": "Task TokenMaterial TrainingMethod prepare_steps",
            "sfumato.training.methods.directional": "Directional DirectionalPlan PerRecord",
            "sfumato.training.methods.interleaved": "Interleaved InterleavedPlan Visits",
            "sfumato.training.methods.plain": "Plain",
            "sfumato.training.methods.private": "Private",
            "sfumato.training.methods.redacted": "Redacted",
            "sfumato.training.methods.selective": "SelectiveTraining",
            "sfumato.training.methods.twice": "Twice",
            "sfumato.training.plan": "Plan PrivacyCaution TrainingPlan",
            "sfumato.training.records": (
                "Cut TokenRecords make_labeled_records make_language_records make_tagged_records "
            ),
            "sfumato.training.run": "Run",
            "sfumato.training.sampling": "Poisson Shuffled",
            "sfumato.training.settings": "Course Privacy Training",
            "sfumato.training.stages": (
                "Schedule Stage decreasing_noise geometric growing_batches "
            ),
            "sfumato.training.steps": "PlainStep PrivateStep make_private",
        },
    )

__all__ = [
    "Adaptive",
    "Automatic",
    "Clipping",
    "Course",
    "Cut",
    "Directional",
    "DirectionalPlan",
    "DirectionalRelease",
    "Evaluation",
    "Flat",
    "GaussianRelease",
    "GradientRelease",
    "Interleaved",
    "InterleavedPlan",
    "PerRecord",
    "PerRecordRelease",
    "PhysicalBatch",
    "Plain",
    "PlainStep",
    "Plan",
    "Poisson",
    "Privacy",
    "PrivacyCaution",
    "Private",
    "PrivateStep",
    "RecordedLinear",
    "Recording",
    "Records",
    "Redacted",
    "Role",
    "Run",
    "Schedule",
    "SelectiveTraining",
    "Shuffled",
    "Stage",
    "Task",
    "TokenMaterial",
    "TokenRecords",
    "Training",
    "TrainingMethod",
    "TrainingPlan",
    "Twice",
    "Visits",
    "check_layer",
    "decreasing_noise",
    "fit",
    "geometric",
    "growing_batches",
    "make_labeled_records",
    "make_language_records",
    "make_private",
    "make_tagged_records",
    "next_tokens",
    "physical_batches",
    "predict_labels",
    "predict_tokens",
    "prepare_steps",
    "record_losses",
    "register_layer",
]
