"""A scripted model that refuses what its API would refuse, and signs what only it could have signed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.helpers.api_rules import broken_rules
from tests.helpers.scripted_model import ModelServer, Refuse, api_of, wire_of

if TYPE_CHECKING:
    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer

SCRIPTED_PROOFS = ("c2lnbmVk", "ZW5jcnlwdGVk")
"""The signature and the encrypted reasoning that the scripted answers carry."""


class StrictModel(ModelServer):
    """Checks every request against its API's rules; a broken one is answered 400 and kept in `refused`."""

    def __init__(self, *answers: Answer) -> None:
        self._left = list(answers)
        self._number = 0
        self.refused: list[str] = []
        self.issued: dict[str, set[str]] = {}
        super().__init__()

    def _play(self, exchange: Exchange) -> bool:
        if self.answers_about_itself(exchange):
            return True
        api = api_of(exchange.request.path)
        issued = self.issued.setdefault(api, set())
        broken = broken_rules(api, exchange.request.json(), issued)
        if broken:
            self.refused += [f"{api}: {rule}" for rule in broken]
            return self.play(exchange, api, wire_of(api, [Refuse(400, message=broken[0])]))
        self._number += 1
        nothing: Answer = [Refuse(400, message="nothing more is scripted")]
        answer = self._left.pop(0) if self._left else nothing
        text = json.dumps(wire_of(api, answer, self._number))
        for proof in SCRIPTED_PROOFS:
            if proof in text:
                own = f"{proof}{api.replace('-', '')}{self._number:04d}"
                issued.add(own)
                text = text.replace(proof, own)
        return self.play(exchange, api, json.loads(text))
