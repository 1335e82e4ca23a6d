"""Layer classes and their registry (old place; now :mod:`returnn.layers`). Old name: ``TFNetworkLayer``."""

from returnn.layers.alignment import (
    CtcLossLayer,
    FastBaumWelchLayer,
    ForcedAlignmentLayer,
    SparseSoftmaxCrossEntropyWithLogitsLayer,
)
from returnn.layers.attention import (
    ConcatAttentionLayer,
    DotAttentionLayer,
    GaussWindowAttentionLayer,
    GenericAttentionLayer,
    SelfAttentionLayer,
)
from returnn.layers.combine import CombineLayer, EvalLayer
from returnn.layers.compare import CompareLayer, SwitchLayer
from returnn.layers.concat_input import ConcatInputLayer, concat_sources, get_concat_sources_data_template
from returnn.layers.concat_input import ConcatInputLayer as _ConcatInputLayer
from returnn.layers.cond import CondLayer
from returnn.layers.constant import ConstantLayer
from returnn.layers.control import GlobalTrainStepLayer, TrainFlagLayer
from returnn.layers.conv import ConvLayer, TransposedConvLayer
from returnn.layers.dot import DotLayer
from returnn.layers.elementwise import ElemwiseProdLayer, GatingLayer, ScaledGradientLayer, WeightedSumLayer
from returnn.layers.flatten import FlattenBatchLayer, SplitBatchTimeLayer, UnflattenBatchLayer, UnflattenNdLayer
from returnn.layers.hdf_dump import HDFDumpLayer
from returnn.layers.image_summary import ImageSummaryLayer
from returnn.layers.indexing import (
    BooleanMaskLayer,
    GatherLayer,
    GatherNdLayer,
    RemoveLayer,
    ScatterNdLayer,
    SearchSortedLayer,
    SliceLayer,
    SliceNdLayer,
    TopKLayer,
)
from returnn.layers.join import ConcatLayer, SplitLayer, StackLayer
from returnn.layers.lengths import LengthLayer, RangeFromLengthLayer, RangeInAxisLayer, RangeLayer
from returnn.layers.linear import LinearLayer, SoftmaxLayer
from returnn.layers.loss import get_loss_class
from returnn.layers.loss.layer import LossLayer
from returnn.layers.masked import MaskedComputationLayer, MaskedPartLayer, MaskedSourceLayer, UnmaskLayer
from returnn.layers.meta_losses import GradientLayer, SyntheticGradientLayer, TikhonovRegularizationLayer
from returnn.layers.norm import BatchNormLayer, LayerNormLayer, MathNormLayer, NormLayer
from returnn.layers.pool import PoolLayer
from returnn.layers.positional import PositionalEncodingLayer, RelativePositionalEncodingLayer
from returnn.layers.print import PrintLayer
from returnn.layers.random import RandIntLayer, RandomLayer, RandomStateInitLayer
from returnn.layers.reduce import ReduceLayer, ReduceOutLayer
from returnn.layers.registry import (
    auto_register_layer_classes,
    get_layer_class,
    get_layer_class_name_list,
    register_layer_class,
)
from returnn.layers.reinterpret import ReinterpretDataLayer
from returnn.layers.reshape import (
    CombineDimsLayer,
    ExpandDimsLayer,
    ReshapeLayer,
    SqueezeLayer,
    SwapAxesLayer,
    TileLayer,
    TransposeLayer,
)
from returnn.layers.segments import NormalizeLengthScoresLayer
from returnn.layers.select_choices import SelectSearchSourcesLayer
from returnn.layers.sequences import CumsumLayer, EditDistanceLayer
from returnn.layers.shape import ActivationLayer, CopyLayer, MergeDimsLayer, SplitDimsLayer
from returnn.layers.shape import CopyLayer as DropoutLayer
from returnn.layers.signal import (
    AlternatingRealToComplexLayer,
    BatchMedianPoolingLayer,
    ComplexLinearProjectionLayer,
    ComplexToAlternatingRealLayer,
    DctLayer,
    IstftLayer,
    MelFilterbankLayer,
    MultiChannelMultiResolutionStftLayer,
    MultiChannelStftLayer,
    NoiseEstimationByFirstTFramesLayer,
    SignalMaskingLayer,
    SplitConcatenatedMultiChannelLayer,
    StftLayer,
    TileFeaturesLayer,
)
from returnn.layers.softmax import BatchSoftmaxLayer, SoftmaxOverSpatialLayer
from returnn.layers.source import SourceLayer
from returnn.layers.statistics import AccumulateMeanLayer, FramewiseStatisticsLayer
from returnn.layers.subnetwork import SubnetworkInputLayer, SubnetworkLayer
from returnn.layers.time_edges import (
    PadLayer,
    PostfixInTimeLayer,
    PrefixInTimeLayer,
    RepeatLayer,
    SeqLenMaskLayer,
    ShiftAxisLayer,
)
from returnn.layers.values import CastLayer, IdentityLayer
from returnn.layers.variables import VariableAssignLayer, VariableLayer, VariableReadLayer
from returnn.layers.windows import FoldLayer, ResizeLayer, TimeChunkingLayer, TimeUnchunkingLayer, WindowLayer

from .base import (
    DataNotAvailableLayer,
    InternalLayer,
    LayerBase,
    Loss,
    ReuseParams,
    SearchChoices,
    WrappedInternalLayer,
)

__all__ = [
    "AccumulateMeanLayer",
    "ActivationLayer",
    "AlternatingRealToComplexLayer",
    "BatchMedianPoolingLayer",
    "BatchNormLayer",
    "BatchSoftmaxLayer",
    "BooleanMaskLayer",
    "CastLayer",
    "CombineDimsLayer",
    "CombineLayer",
    "CompareLayer",
    "ComplexLinearProjectionLayer",
    "ComplexToAlternatingRealLayer",
    "ConcatAttentionLayer",
    "ConcatInputLayer",
    "ConcatLayer",
    "CondLayer",
    "ConstantLayer",
    "ConvLayer",
    "CopyLayer",
    "CtcLossLayer",
    "CumsumLayer",
    "DataNotAvailableLayer",
    "DctLayer",
    "DotAttentionLayer",
    "DotLayer",
    "DropoutLayer",
    "EditDistanceLayer",
    "ElemwiseProdLayer",
    "EvalLayer",
    "ExpandDimsLayer",
    "FastBaumWelchLayer",
    "FlattenBatchLayer",
    "FoldLayer",
    "ForcedAlignmentLayer",
    "FramewiseStatisticsLayer",
    "GatherLayer",
    "GatherNdLayer",
    "GatingLayer",
    "GaussWindowAttentionLayer",
    "GenericAttentionLayer",
    "GlobalTrainStepLayer",
    "GradientLayer",
    "HDFDumpLayer",
    "IdentityLayer",
    "ImageSummaryLayer",
    "InternalLayer",
    "IstftLayer",
    "LayerBase",
    "LayerNormLayer",
    "LengthLayer",
    "LinearLayer",
    "Loss",
    "LossLayer",
    "MaskedComputationLayer",
    "MaskedPartLayer",
    "MaskedSourceLayer",
    "MathNormLayer",
    "MelFilterbankLayer",
    "MergeDimsLayer",
    "MultiChannelMultiResolutionStftLayer",
    "MultiChannelStftLayer",
    "NoiseEstimationByFirstTFramesLayer",
    "NormLayer",
    "NormalizeLengthScoresLayer",
    "PadLayer",
    "PoolLayer",
    "PositionalEncodingLayer",
    "PostfixInTimeLayer",
    "PrefixInTimeLayer",
    "PrintLayer",
    "RandIntLayer",
    "RandomLayer",
    "RandomStateInitLayer",
    "RangeFromLengthLayer",
    "RangeInAxisLayer",
    "RangeLayer",
    "ReduceLayer",
    "ReduceOutLayer",
    "ReinterpretDataLayer",
    "RelativePositionalEncodingLayer",
    "RemoveLayer",
    "RepeatLayer",
    "ReshapeLayer",
    "ResizeLayer",
    "ReuseParams",
    "ScaledGradientLayer",
    "ScatterNdLayer",
    "SearchChoices",
    "SearchSortedLayer",
    "SelectSearchSourcesLayer",
    "SelfAttentionLayer",
    "SeqLenMaskLayer",
    "ShiftAxisLayer",
    "SignalMaskingLayer",
    "SliceLayer",
    "SliceNdLayer",
    "SoftmaxLayer",
    "SoftmaxOverSpatialLayer",
    "SourceLayer",
    "SparseSoftmaxCrossEntropyWithLogitsLayer",
    "SplitBatchTimeLayer",
    "SplitConcatenatedMultiChannelLayer",
    "SplitDimsLayer",
    "SplitLayer",
    "SqueezeLayer",
    "StackLayer",
    "StftLayer",
    "SubnetworkInputLayer",
    "SubnetworkLayer",
    "SwapAxesLayer",
    "SwitchLayer",
    "SyntheticGradientLayer",
    "TikhonovRegularizationLayer",
    "TileFeaturesLayer",
    "TileLayer",
    "TimeChunkingLayer",
    "TimeUnchunkingLayer",
    "TopKLayer",
    "TrainFlagLayer",
    "TransposeLayer",
    "TransposedConvLayer",
    "UnflattenBatchLayer",
    "UnflattenNdLayer",
    "UnmaskLayer",
    "VariableAssignLayer",
    "VariableLayer",
    "VariableReadLayer",
    "WeightedSumLayer",
    "WindowLayer",
    "WrappedInternalLayer",
    "_ConcatInputLayer",
    "auto_register_layer_classes",
    "concat_sources",
    "get_concat_sources_data_template",
    "get_layer_class",
    "get_layer_class_name_list",
    "get_loss_class",
    "register_layer_class",
]
