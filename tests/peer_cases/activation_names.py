"""Activations by name, with operators, as expressions."""

extern_data = {"data": {"dim": 5}}
names = [
    "tanh",
    "sigmoid",
    "relu",
    "exp",
    "log_softmax",
    "softmax",
    "log_sigmoid",
    "identity",
    "none",
    "",
    "swish",
    "silu",
    "abs",
    "safe_log",
    "safe_exp",
    "gelu2",
    "gelu3",
    "gelu",
    "softplus",
    "neg",
    "lin_exp",
    "lin_exp_normed",
    "elu",
    "selu",
    "sign",
    "square",
    "leaky_relu",
    "relu6",
    "softsign",
    "sin",
    "cos",
    "ceil",
    "floor",
    "round",
    "erf",
    "2*sigmoid",
    "1-sigmoid",
    "3+2*sigmoid",
    "0.5*tanh",
    "tf.tanh(x)*2",
    "tf.nn.relu(x) - 1",
    "tanh/2",
    "sigmoid*tanh",
    "-1*relu",
    "0.5-tanh",
    "1.5*relu+1",
]
network = {
    "act%02i" % i: {"class": "activation", "activation": name, "from": "data", "is_output_layer": True}
    for i, name in enumerate(names)
}
network.update(
    eps={
        "class": "activation",
        "activation": "safe_log",
        "opts": {"eps": 1e-2},
        "from": "act12",
        "is_output_layer": True,
    },
    log_of_softmax={"class": "activation", "activation": "safe_log", "from": "act05", "is_output_layer": True},
    linear_swish={"class": "linear", "activation": "swish", "n_out": 4, "from": "data", "is_output_layer": True},
    linear_op={"class": "linear", "activation": "1-sigmoid", "n_out": 4, "from": "data", "is_output_layer": True},
    output={
        "class": "linear",
        "activation": "2*sigmoid",
        "n_out": 3,
        "from": ["act00", "act10", "act14"],
        "loss": "as_is",
    },
)
lens = {"data": [5, 2, 4]}
train = True
