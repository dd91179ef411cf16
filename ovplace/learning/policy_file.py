"""Policy files: weights of a trained policy, the settings of its network, and its origin."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ovplace.atomic import replacing
from ovplace.core.build_dataclass import build_dataclass
from ovplace.core.problem import Problem
from ovplace.core.text.json_text import parse_json
from ovplace.errors import ConfigError, StoreError, UsageError
from ovplace.plugins import registry
from ovplace.shipped import shipped, shipped_in
from ovplace.store.arrays import DAMAGE, write_arrays

if TYPE_CHECKING:
    from torch import nn

SHIPPED = "shipped"
"""Name, in place of a path, of the included policy of a placer."""

POLICIES = "models/policies"
"""Folder of the included policies."""

SCHEMA = 1

LARGEST_BYTES = 1 << 30
"""Unpacked size of a policy file; the largest that comes with ovplace has 0.3 MB."""

C = TypeVar("C", bound=Any)

_ABOUT = "about"
_WEIGHT = "weight:"


@dataclass(frozen=True, eq=False)
class PolicyFile:
    """A trained policy as data: an `.npz` with an array for each weight and a JSON text `about`.

    A run reads it once: weights are part of a placer's state, so that a resumed run does not need the file.

    Attributes:
        placer: name of the placer.
        settings: values of the placer's `Config` that the shape of its network depends on.
        features: names of the node features used in training; empty for none.
        n_features: their columns F; 0 for a network without node features.
        weights: by the name of the parameter, float32.
        provenance: configuration, seed, models, machines and versions of the training.
        vocabulary: hash of the meaning of the features' columns.
    """

    placer: str
    settings: Mapping[str, object]
    features: tuple[str, ...]
    n_features: int
    weights: Mapping[str, NDArray[np.float32]] = field(repr=False)
    provenance: Mapping[str, object] = field(default_factory=dict, repr=False)
    vocabulary: str = ""

    @classmethod
    def from_network(
        cls,
        network: nn.Module,
        placer: str,
        settings: Mapping[str, object],
        features: Sequence[str],
        n_features: int,
        provenance: Mapping[str, object],
    ) -> PolicyFile:
        """Return the policy of a trained network.

        Args:
            network: the trained network.
            placer: name of the placer.
            settings: values of the placer's `Config` that the shape of the network depends on.
            features: names of the node features.
            n_features: their columns F.
            provenance: configuration, seed, models, machines and versions of the training.

        Raises:
            UsageError: there is no such feature.
        """
        weights = {name: value.detach().numpy().astype(np.float32) for name, value in network.state_dict().items()}
        named = tuple(features)
        return cls(placer, dict(settings), named, n_features, weights, dict(provenance), vocabulary(named))

    @classmethod
    def read(cls, path: str | Path, placer: str = "") -> PolicyFile:
        """Return the policy in a file.

        Args:
            path: the file; `shipped` is the one of `placer` that comes with ovplace.
            placer: the placer it must be of; any where empty.

        Raises:
            UsageError: the file does not exist, is not a policy file, or belongs to another placer.
        """
        file = _found(path, placer)
        about, weights = _contents(file)
        try:
            policy = cls(
                placer=str(about["placer"]),
                settings=dict(about["settings"]),
                features=_texts(about["features"]),
                n_features=int(about["n_features"]),
                weights=weights,
                provenance=dict(about["provenance"]),
                vocabulary=str(about["vocabulary"]),
            )
        except KeyError as error:
            raise _not_a_policy(file, f"its description lacks {error}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise _not_a_policy(file, f"its description is damaged ({error})") from error
        policy._check_placer(file, placer)
        policy._check_vocabulary(file)
        return policy

    def write(self, path: str | Path) -> None:
        """Write the file so that a crash leaves either the old one or the new one.

        Raises:
            StoreError: it cannot be written.
        """
        file = Path(path)
        about = {
            "schema": SCHEMA, "placer": self.placer, "settings": dict(self.settings), "features": list(self.features),
            "n_features": self.n_features, "vocabulary": self.vocabulary, "provenance": dict(self.provenance),
        }  # fmt: skip
        arrays: dict[str, Any] = {f"{_WEIGHT}{name}": value for name, value in self.weights.items()}
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as temporary:
                write_arrays(temporary, {_ABOUT: np.array(json.dumps(about, sort_keys=True)), **arrays})
        except OSError as error:
            raise StoreError(f"cannot write the policy '{file}': {error.strerror}; choose another file") from error

    def into(self, network: nn.Module) -> None:
        """Load the weights into a network.

        Raises:
            UsageError: they do not fit the network.
        """
        import torch  # reading which placer a policy is of needs none

        state = {name: torch.from_numpy(np.array(value)) for name, value in self.weights.items()}
        try:
            network.load_state_dict(state)
        except RuntimeError as error:
            raise self._misfit(str(error).splitlines()[-1].strip()) from error

    @contextmanager
    def limiting(self) -> Iterator[None]:
        """Let no network be built with more weights than the file has: by the settings in it, one may fill the memory.

        A weight is counted before it is drawn, when its memory is reserved and not yet taken.

        Raises:
            UsageError: the network that is built has more, or none can be built.
        """
        from torch.nn.modules.module import register_module_parameter_registration_hook

        left, thread = sum(value.size for value in self.weights.values()), get_ident()

        def count(_: nn.Module, name: str, weight: nn.Parameter) -> None:
            nonlocal left
            left -= weight.numel() if get_ident() == thread else 0  # torch calls this in all threads
            if left < 0:
                raise self._misfit(f"by its settings the network has more of them, '{name}' is too many.")

        hook = register_module_parameter_registration_hook(count)
        try:
            yield
        except (TypeError, RuntimeError) as error:  # sizes that torch cannot reserve, or beyond 64 bits
            said = (str(error).splitlines() or [type(error).__name__])[0].strip().rstrip(".")
            raise self._misfit(f"by its settings the network has sizes that none can have ({said}).") from error
        finally:
            hook.remove()

    def _misfit(self, reason: str) -> UsageError:
        return UsageError(
            f"the weights of the policy file do not fit the network of '{self.placer}': {reason} "
            "Train it again with 'ovplace train'"
        )

    def over(self, config: C) -> C:
        """Return a placer's `config` with the settings that the network was built with.

        A setting of the network that the file does not name is newer than the file: its default is how networks were
        built before, whatever a preset says.

        Raises:
            UsageError: they are not settings of this placer, or have other values than those may have.
        """
        settings = {**type(config)().policy_settings, **self.settings}
        try:
            built: C = build_dataclass(type(config), {**asdict(config), **settings}, "placer")
            return built
        except ConfigError as error:
            raise UsageError(
                f"the policy file has settings that '{self.placer}' does not know: {error}; train it again with "
                "'ovplace train'"
            ) from error

    def check_features(self, problem: Problem) -> None:
        """Check that a problem has the features that the policy was trained with, if it was trained with any.

        Raises:
            UsageError: they are others, in another order, or have another number of columns.
        """
        names, columns = problem.feature_names, problem.features.shape[1]
        if self.features and (names, columns) != (self.features, self.n_features):
            raise UsageError(
                f"the policy was trained with the features {', '.join(self.features)} ({self.n_features} columns), and "
                f"the problem has {', '.join(names) or 'none'} ({columns}); "
                f"give --set search.features={','.join(self.features)}"
            )

    def _check_placer(self, file: Path, placer: str) -> None:
        if placer and self.placer != placer:
            raise UsageError(
                f"'{file}' is a policy of the placer '{self.placer}', not of '{placer}'; choose --placer {self.placer}"
            )

    def _check_vocabulary(self, file: Path) -> None:
        if self.vocabulary != vocabulary(self.features):
            raise UsageError(
                f"the features {', '.join(self.features)} do not mean what they did when the policy '{file}' was "
                "trained; train it again with 'ovplace train'"
            )


def vocabulary(features: Sequence[str]) -> str:
    """Return a hash of the names of features and of the vocabularies their columns stand for.

    Raises:
        UsageError: there is no such feature.
    """
    words = [(name, registry.load("features", name).vocabulary) for name in features]
    return blake2b(repr(words).encode(), digest_size=8).hexdigest()


def _found(path: str | Path, placer: str) -> Path:
    if str(path) != SHIPPED:
        return Path(path)
    found = shipped(f"{POLICIES}/{placer}.npz")
    if found is None:
        known = ", ".join(shipped_in(POLICIES, ".npz"))
        raise UsageError(
            f"no trained policy of the placer '{placer}' comes with ovplace; choose one of these with --placer: {known}"
        )
    return found


def _contents(file: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Return the description and the weights in a file."""
    try:
        with file.open("rb") as source, np.load(source, allow_pickle=False) as archive:
            _check_size(archive.zip.infolist())
            about = parse_json(str(archive[_ABOUT]))
            names = [name for name in archive.files if name.startswith(_WEIGHT)]
            weights = {name.removeprefix(_WEIGHT): archive[name].astype(np.float32) for name in names}
    except OSError as error:
        if error.strerror is None:
            raise _not_a_policy(file, str(error)) from error
        raise UsageError(f"cannot read the policy '{file}': {error.strerror}; check the path") from error
    except DAMAGE as error:
        raise _not_a_policy(file, "its contents are something else, or damaged") from error
    if not isinstance(about, dict) or about.get("schema") != SCHEMA:
        raise _not_a_policy(file, "its description is of another version")
    if not all(np.isfinite(value).all() for value in weights.values()):
        raise _not_a_policy(file, "its weights are not finite numbers")
    return about, weights


def _texts(names: Sequence[object]) -> tuple[str, ...]:
    """Return names that must be a list of texts.

    Raises:
        TypeError: they are something else.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"expected a list of names, got {names!r:.80}")
    return tuple(names)


def _check_size(entries: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse what would unpack to more than any policy has, before it fills the memory."""
    if sum(entry.file_size for entry in entries) > LARGEST_BYTES:
        raise ValueError(f"more than {LARGEST_BYTES} bytes")


def _not_a_policy(file: Path, reason: str) -> UsageError:
    return UsageError(f"'{file}' is not a policy file of this version of ovplace: {reason}; make one: ovplace train")
