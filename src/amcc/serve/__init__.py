"""Live campaigns: ask, answer, pay, learn (`amcc serve`, `amcc campaign`); needs the extra `serve`.

| file | what it knows |
|---|---|
| `service` | `Service`: the one object that pages, API, commands and tests use |
| `views`, `settings` | what is shown; what a requester sets |
| `store/` | tables, engines, transactions, the lock, migrations |
| `money` | the till: ledger and sums, which change together |
| `leasing`, `answering` | pages with their money; answers with theirs |
| `handing` | choose a page, lease it, choose again where somebody was faster |
| `live`, `pairs`, `growing` | what is believed now, vote by vote; the page worth most for whoever comes |
| `learned`, `snapshot`, `fitting`, `fit`, `learner` | what a fit learns, of what, how, in which process, and when |
| `making`, `reading`, `folders` | new campaigns from files; a campaign's folder |
| `people`, `passwords` | workers, links, platforms, block, forget; the requester's password |
| `events`, `noticing` | what webhooks are told: with what happens; by what a server sees |
| `webhooks`, `postman` | who is told, how it is signed, the outbox; the thread that sends it |
| `addresses`, `outgoing` | where requests of ours may go; requests that go there and nowhere else |
| `changing` | settings, budget, prices, items, decisions, payments of a running campaign |
| `reports`, `exporting` | how it stands; votes, consensus, payments |
| `checking`, `keeping` | verify; backup and restore |
| `core` | what all these share of an open campaign |
| `web/` | pages, dashboard, API, sign-in |
| `client`, `judge`, `simulated` | workers that are programs: by the API, language-model judges, simulated people |
| `running`, `demo`, `scenes` | `amcc serve`; the demonstration and its pictures |
"""
