"""Type of an operation, one-hot over a fixed vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "operation type, one-hot"

VOCABULARY = tuple(
    """
    Abs Acos Acosh AdaptiveAvgPool AdaptiveMaxPool Add Asin Asinh Assign Atan Atanh AvgPool BatchNormInference
    BatchToSpace BinaryConvolution BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor
    Broadcast Bucketize CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss Ceiling Clamp Col2Im Concat Constant
    Convert ConvertLike ConvertPromoteTypes Convolution ConvolutionBackpropData Cos Cosh CumSum DFT
    DeformableConvolution DeformablePSROIPooling DepthToSpace DetectionOutput Divide Einsum Elu
    EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum
    Equal Erf ErfInv Exp ExperimentalDetectronDetectionOutput ExperimentalDetectronGenerateProposalsSingleImage
    ExperimentalDetectronPriorGridGenerator ExperimentalDetectronROIFeatureExtractor
    ExperimentalDetectronTopKROIs ExtractImagePatches Eye FakeConvert FakeQuantize Floor FloorMod GRN GRUCell
    GRUSequence Gather GatherElements GatherND GatherTree Gelu GenerateProposals Greater GreaterEqual GridSample
    GroupConvolution GroupConvolutionBackpropData GroupNormalization GroupedMatMul HSigmoid HSwish HardSigmoid
    I420toBGR I420toRGB IDFT IRDFT ISTFT Identity If Interpolate Inverse IsFinite IsInf IsNaN LRN LSTMCell
    LSTMSequence Less LessEqual Log LogSoftmax LogicalAnd LogicalNot LogicalOr LogicalXor Loop MVN MatMul
    MatrixNms MaxPool Maximum Minimum Mish Mod MulticlassNms Multinomial Multiply NMSRotated NV12toBGR NV12toRGB
    Negative NonMaxSuppression NonZero NormalizeL2 NotEqual OneHot PRelu PSROIPooling Pad Parameter Power
    PriorBox PriorBoxClustered Proposal RDFT RNNCell RNNSequence ROIAlign ROIAlignRotated ROIPooling
    RandomUniform Range ReadValue ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean
    ReduceMin ReduceProd ReduceSum RegionYolo Relu ReorgYolo Reshape Result ReverseSequence Roll Round STFT
    ScaledDotProductAttention ScatterElementsUpdate ScatterNDUpdate ScatterUpdate SearchSorted SegmentMax Select
    Selu ShapeOf ShuffleChannels Sigmoid Sign Sin Sinh Slice SliceScatter SoftPlus SoftSign Softmax SpaceToBatch
    SpaceToDepth SparseFillEmptyRows Split Sqrt SquaredDifference Squeeze StridedSlice StringTensorPack
    StringTensorUnpack Subtract Swish Tan Tanh TensorIterator Tile TopK Transpose Unique Unsqueeze VariadicSplit
    """.split()  # noqa: SIM905 - 205 words
)
"""Operation types of OpenVINO's opsets 1 to 16, sorted; all other types share one further column."""

_COLUMN = {kind: column for column, kind in enumerate(VOCABULARY)}


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """One column for each type of the vocabulary, and a last one for all other types."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the one-hot rows, `[N, F]`.

        Source: HSDAG, NeurIPS 2024, node features: operation type; there one-hot over the types of the benchmark
        models.
        """
        columns = [_COLUMN.get(kind, len(VOCABULARY)) for kind in graph.types]
        return np.eye(len(VOCABULARY) + 1)[np.array(columns, dtype=np.int64)]
