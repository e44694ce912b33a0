"""The paths of the service. Each hands its request to a function and does nothing itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from sfumato.core.errors import BudgetExceeded
from sfumato.service import accounts, answers, explaining, metrics, offers, presidio, releasing
from sfumato.service.guard import CALLER
from sfumato.service.operators import NAMES, REFUSED
from sfumato.service.problems import BODY
from sfumato.service.queue import Turn
from sfumato.service.requests import (
    AccountName,
    AnalyzeRequest,
    AnonymizeRequest,
    CompareRequest,
    ExplainRequest,
    GuaranteeRequest,
    NewAccount,
    PrivatizeRequest,
    Statement,
    WordRequest,
)
from sfumato.service.state import Service, serving

router = APIRouter()
# It is sent back as a header, which nobody reads if it is not plain.
IdempotencyKey = Annotated[str | None, Header(max_length=200, pattern=r"^[!-~]([ -~]*[!-~])?$")]
Language = Annotated[str | None, Query(max_length=20)]
KEY_HEADER = "Idempotency-Key"


@router.get("/health", tags=["service"], response_model=answers.Health)
def health() -> dict[str, str]:
    """Whether the service runs, and its version."""
    from importlib.metadata import version

    return {"status": "ok", "version": version("sfumato")}


@router.get("/metrics", tags=["service"], response_class=PlainTextResponse)
def read_metrics(request: Request) -> Response:
    """Counts for Prometheus."""
    return Response(serving(request).metrics.exposed(), media_type=metrics.MEDIA_TYPE)


@router.get("/v1/mechanisms", tags=["catalog"], response_model=list[answers.Mechanism])
def list_mechanisms() -> list[dict[str, Any]]:
    """The mechanisms that can be asked for, with their settings and their curves of staying."""
    return [
        one.as_dict() | {"staying": explaining.staying_of(name)}
        for name, one in offers.mechanisms().items()
    ]


@router.get("/v1/policies", tags=["catalog"], response_model=list[answers.PolicyShown])
def list_policies() -> list[dict[str, Any]]:
    """The policies that can be asked for."""
    return offers.policies()


@router.get("/v1/recognizers", tags=["catalog"])
@router.get("/recognizers", tags=["presidio"])
def list_recognizers(language: Language = None) -> list[str]:  # noqa: ARG001  # Presidio's
    """The recognizers of the policy pii, whatever the language."""
    return presidio.recognizers()


@router.get("/v1/supportedentities", tags=["catalog"])
@router.get("/supportedentities", tags=["presidio"])
def list_entities(request: Request, language: Language = None) -> list[str]:  # noqa: ARG001
    """The types that are found."""
    return presidio.supported_entities(theirs=_theirs(request))


@router.get("/v1/anonymizers", tags=["catalog"])
@router.get("/anonymizers", tags=["presidio"])
def list_anonymizers() -> list[str]:
    """Presidio's operators that are offered, and mechanisms, which are operators, too."""
    left_out = ("auto", *NAMES, *REFUSED)
    return [*NAMES, *(one for one in offers.mechanisms() if one not in left_out)]


@router.post("/v1/analyze", tags=["analyze"], response_model=answers.Findings)
@router.post("/analyze", tags=["presidio"], response_model=answers.Findings)
async def analyze(request: Request, asked: AnalyzeRequest) -> Any:
    """What is sensitive in one text or in several."""
    service, theirs = serving(request), _theirs(request)
    texts = releasing.texts_of(asked.text, service.settings.limits)
    found = await service.compute(request, lambda _: presidio.analyze(asked, texts, theirs=theirs))
    return JSONResponse(found[0] if isinstance(asked.text, str) else found)


@router.post("/v1/anonymize", tags=["release"], response_model=answers.Anonymized)
@router.post("/anonymize", tags=["presidio"], response_model=answers.Anonymized)
async def anonymize(
    request: Request, asked: AnonymizeRequest, idempotency_key: IdempotencyKey = None
) -> Any:
    """A text with other words at the places that a caller has found."""
    service = serving(request)
    releasing.texts_of(asked.text, service.settings.limits)
    paid = _paid(request, asked.account, idempotency_key)
    return await _release(
        request,
        service,
        paid,
        lambda turn: presidio.anonymize(asked, service.cashier, paid, turn),
    )


@router.post("/v1/privatize", tags=["release"], response_model=answers.Release)
async def privatize(
    request: Request, asked: PrivatizeRequest, idempotency_key: IdempotencyKey = None
) -> Any:
    """Find what is sensitive, replace it, charge for it, and say what is guaranteed."""
    service = serving(request)
    releasing.texts_of(asked.text, service.settings.limits)
    paid = _paid(request, asked.account, idempotency_key)
    return await _release(
        request,
        service,
        paid,
        lambda turn: releasing.privatize(
            offers.choose_privatizer(asked), asked.text, service.cashier, paid, turn
        ),
    )


@router.post("/v1/guarantee", tags=["explain"], response_model=answers.Told)
async def guarantee(request: Request, asked: GuaranteeRequest) -> Any:
    """What settings would guarantee, without a text."""
    return JSONResponse(
        await serving(request).compute(request, lambda _: explaining.guarantee(asked))
    )


@router.post("/v1/explain", tags=["explain"], response_model=answers.Preview)
async def explain(request: Request, asked: ExplainRequest) -> Any:
    """What would happen to a text, word by word; nothing is charged, and it is not for release."""
    return JSONResponse(
        await serving(request).compute(request, lambda _: explaining.explain(asked))
    )


@router.put("/v1/accounts", tags=["budget"], status_code=201, response_model=answers.AccountShown)
async def open_account(request: Request, asked: NewAccount) -> Any:
    """Open an account; its limit never changes."""
    service = serving(request)
    made = await service.compute(
        request, lambda turn: accounts.open_account(service.cashier, asked, turn)
    )
    return JSONResponse(made, status_code=201)


@router.post("/v1/accounts/close", tags=["budget"], response_model=answers.AccountShown)
async def close_account(request: Request, asked: AccountName) -> Any:
    """Close an account: nothing more can be charged to it, ever."""
    service = serving(request)
    return JSONResponse(
        await service.compute(
            request, lambda turn: accounts.close_account(service.cashier, asked, turn)
        )
    )


@router.post("/v1/budget", tags=["budget"], response_model=answers.AccountShown)
async def show_account(request: Request, asked: Statement) -> Any:
    """What an account allows, what is used, and what holds at its limit."""
    service = serving(request)
    return JSONResponse(
        await service.compute(
            request, lambda turn: accounts.show_account(service.cashier, asked, turn)
        )
    )


@router.post("/v1/report", tags=["budget"], response_model=answers.Page)
async def report(request: Request, asked: Statement) -> Any:
    """A page about an account for a data-protection officer, in Markdown."""
    service = serving(request)
    page = await service.compute(
        request, lambda turn: accounts.statement_of(service.cashier, asked, turn)
    )
    if "text/markdown" in request.headers.get("accept", ""):
        return PlainTextResponse(page, media_type="text/markdown; charset=utf-8")
    return JSONResponse({"markdown": page})


@router.post("/v1/explain/word", tags=["explain"], response_model=answers.WordPreview)
async def explain_word(request: Request, asked: WordRequest) -> Any:
    """What one word may become, and what an attacker would guess; nothing is charged."""
    return JSONResponse(
        await serving(request).compute(request, lambda _: explaining.explain_word(asked))
    )


@router.post("/v1/compare", tags=["explain"], response_model=answers.Compared)
async def compare(request: Request, asked: CompareRequest) -> Any:
    """Two mechanisms on the same words, at equal epsilon and at equal chance to stay."""
    return JSONResponse(
        await serving(request).compute(request, lambda _: explaining.compare(asked))
    )


@router.get("/v1/token", tags=["service"], response_model=answers.TokenShown)
def read_token(request: Request) -> dict[str, Any]:
    """What the caller's token allows, and whether releases are charged here."""
    cashier, token = serving(request).cashier, request.scope[CALLER]
    return {
        "rights": token.as_dict()["rights"],
        "expires": token.expires,
        "budget": cashier.budget is not None,
        "uncharged": cashier.budget is None or cashier.uncharged,
    }


async def _release(
    request: Request, service: Service, paid: releasing.Paid | None, work: Any
) -> JSONResponse:
    def counted(turn: Turn) -> dict[str, Any]:
        try:
            made: dict[str, Any] = work(turn)
        except BudgetExceeded:
            service.metrics.refused.inc()
            raise
        service.metrics.releases.inc()
        return made

    made = await service.compute(request, counted)
    return JSONResponse(made, headers={} if paid is None else {KEY_HEADER: paid.key})


def _paid(request: Request, account: AccountName | None, key: str | None) -> releasing.Paid | None:
    return None if account is None else releasing.Paid.of(account, key, request.scope[BODY])


def _theirs(request: Request) -> bool:
    """Whether a request came by Presidio's own path, and wants its names."""
    return not request.scope["path"].startswith("/v1/")
