# What a developer runs. "make check" and "make test" are what CI runs.

BIN       = bin/githandoff
FUZZTIME  = 60s
BENCH     = .
VULNDB    = https://vuln.go.dev
SOAK      = 1h
KILLS     = 200
AGENTS    = $(CURDIR)/bin/agents
AXE       = $(CURDIR)/bin/axe
AXECORE   = axe-core@4.14.1
CLIENTS   = claude codex gemini opencode copilot

# What starts goroutines or is meant to be used by many at once. The tests of these packages run
# the servers of internal/gittest. In internal/lifecycle only an audit verifies on all cores.
CONCURRENT = ./internal/gitexec/... ./internal/refs/... ./internal/crossrepo/... \
             ./internal/audited/... ./internal/app/audit/... ./internal/app/hubsync/... \
             ./internal/cli/output/...

VERSION = $(shell git describe --always --dirty 2>/dev/null || echo unknown)
BUILD   = -ldflags "-X main.version=$(VERSION)"

# Without libc, which nothing here needs, the program starts a fifth faster. Everything but the
# race detector is compiled so, once for all targets.
export CGO_ENABLED = 0

GOFUMPT      = mvdan.cc/gofumpt@v0.12.0
GOLANGCILINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEADCODE     = golang.org/x/tools/cmd/deadcode@v0.52.0
GOVULNCHECK  = golang.org/x/vuln/cmd/govulncheck@v1.8.0

.DELETE_ON_ERROR:
.PHONY: axe help build demo test check bench agents agents-installed agents-newest changelog flow fuzz stress kills mutants soak cover fmt lint vuln race install uninstall docs recording

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## build bin/githandoff
	go build $(BUILD) -o $(BIN) ./cmd/githandoff

demo: build ## hand work over between two repositories, start to end
	sh testdata/demo.sh $(BIN)

# A cron job or a container may have no HOME, which go needs for its caches.
ifeq ($(HOME),)
export HOME := $(shell eval echo ~$$(id -un))
endif

test: build ## run all tests
	GITHANDOFF_TEST_BINARY=$(CURDIR)/$(BIN) go test -timeout 2h ./...

check: SOAK = 1m
check: lint vuln race demo soak ## all that must hold before a change lands, beside the tests

bench: ## compare with what a user would run instead: a table in Markdown; RECORD=1 writes it down
	@uname -mrs; git --version; go version; uptime
	@GITHANDOFF_BENCH_BIG=$(GITHANDOFF_BENCH_BIG) go test ./internal/bench -run '^$$' -bench '$(BENCH)' -timeout 4h 2>&1 | \
		awk -v history=internal/bench/history.tsv -v record=$(RECORD) -v when="$$(date -u +%F) $$(git rev-parse --short HEAD)" -f internal/bench/table.awk

agents: agents-installed ## run the real coding agents of CLIENTS against a scripted model
	GITHANDOFF_AGENTS=$(AGENTS) go test -count 1 -v ./internal/agenttest

agents-newest: ## the same with the newest releases of the clients: shows what they changed
	@$(MAKE) agents AGENTS=$(CURDIR)/bin/agents-newest RELEASE=latest

# The programs come from npm, in the versions that the tests name or in their RELEASE, without
# their install scripts.
agents-installed:
	@sed -n 's/.*Name: "\([a-z]*\)", Package: "\([^"]*\)".*/\1 \2/p' internal/agenttest/client.go | \
	while read -r name package; do \
		case " $(CLIENTS) " in *" $$name "*) ;; *) continue ;; esac; \
		[ -z "$(RELEASE)" ] || package="$${package%@*}@$$(npm view "$${package%@*}@$(RELEASE)" version)" || exit 1; \
		[ "$$(cat $(AGENTS)/$$name/installed 2>/dev/null)" = "$$package" ] && continue; \
		echo "npm install $$package"; \
		rm -rf $(AGENTS)/$$name && mkdir -p $(AGENTS)/$$name && \
		npm install --prefix $(AGENTS)/$$name --ignore-scripts --no-audit --no-fund --loglevel=error "$$package" </dev/null && \
		echo "$$package" >$(AGENTS)/$$name/installed || exit 1; \
	done

axe: ## install axe-core, with which a test looks at the page of "githandoff report"
	@[ "$$(cat $(AXE)/installed 2>/dev/null)" = "$(AXECORE)" ] || { \
		npm install --prefix $(AXE) --ignore-scripts --no-audit --no-fund --loglevel=error $(AXECORE) </dev/null && \
		echo "$(AXECORE)" >$(AXE)/installed; }

flow: ## count the functions and files that emit, resume and ack run through; fails where they have become more
	sh testdata/flow.sh

fuzz: ## run every fuzz target for FUZZTIME (60s), one after another
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | \
	while IFS=: read -r file func; do \
		go test "$${file%/*}" -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x </dev/null || exit 1; \
	done

stress: ## the long form of the stress tests: every point of death, every cut; an hour or two
	GITHANDOFF_STRESS=500 go test -timeout 6h ./internal/stress -run 'Killed|CutConnection' -v
	GITHANDOFF_STRESS=20 go test -timeout 2h ./internal/stress

kills: ## kill each command at 200 (KILLS) random moments, half of them with its gits; says its seed
	GITHANDOFF_KILLS=$(KILLS) go test -timeout 0 -count 1 ./internal/stress -run '^TestKilledAtRandom$$' -v

mutants: ## take each guard out of the code, and see which test notices
	go run ./internal/mutant

soak: ## agents at work for an hour (SOAK=1h), killed and tidied up; says its seed, and keeps what failed
	GITHANDOFF_SOAK=$(SOAK) go test -timeout 0 -count 1 ./internal/stress -run '^TestSoak$$' -v -artifacts -outputdir "$${TMPDIR:-/tmp}"

cover: ## what the tests run of the code, the processes that they start included
	@rm -rf bin/cover && mkdir -p bin/cover
	GITHANDOFF_COVER=$(CURDIR)/bin/cover go test -count 1 -coverpkg ./... ./... -args -test.gocoverdir=$(CURDIR)/bin/cover
	@go tool covdata textfmt -i bin/cover -o bin/cover.out
	@go tool cover -func bin/cover.out | tail -n 1

fmt: ## format the source
	go run $(GOFUMPT) -w .

# For other systems, deadcode only checks the types of all packages, which takes a tenth of the time
# of "go vet". Some tests are for Linux alone, so the functions that only they call are not reported there.
lint: ## look for mistakes in format, style, layering and types, on other systems too, and for code that nothing calls
	@files=$$(go run $(GOFUMPT) -l .) && test -z "$$files" || { echo "make fmt would change:"; echo "$$files"; exit 1; }
	go run $(GOLANGCILINT) run
	@unused=$$(go run $(DEADCODE) ./cmd/githandoff ./internal/manual) || exit 1; test -z "$$unused" || { echo "githandoff never calls:"; echo "$$unused"; exit 1; }
	@for os in darwin openbsd; do echo "types for $$os"; go run -exec "env GOOS=$$os" $(DEADCODE) -test ./... >/dev/null || exit 1; done

# A finding fails. That the database is out of reach says nothing of the code: it is
# said loudly, and fails with VULN=required, as for a release. VULNDB may name a copy
# of the database. go run turns every failure into status 1, so the words must tell.
vuln: ## look for known vulnerabilities in what is called
	@out=$$(go run $(GOVULNCHECK) -db $(VULNDB) ./... 2>&1) && status=0 || status=1; \
	printf '%s\n' "$$out"; \
	[ $$status = 0 ] && exit 0; \
	printf '%s\n' "$$out" | grep -q '^Vulnerability #' && exit 1; \
	printf '%s\n' "$$out" | grep -q '^govulncheck: fetching vulnerabilities: ' || exit 1; \
	echo "NOT CHECKED: known vulnerabilities; the database is out of reach" >&2; \
	[ "$(VULN)" != required ]

race: ## run the concurrent packages' tests, in short, under the race detector
	CGO_ENABLED=1 go test -race -short $(CONCURRENT)
	CGO_ENABLED=1 go test -race -short -run Audit ./internal/lifecycle

install: ## install githandoff and its man pages; with GIT_HANDOFF_LINK=1 also as "git handoff"
	go install -trimpath $(BUILD) ./cmd/githandoff
	bin=$$(go env GOBIN); go run ./internal/manual "$$(dirname "$${bin:-$$(go env GOPATH)/bin}")/share/man/man1"
ifeq ($(GIT_HANDOFF_LINK),1)
	bin=$$(go env GOBIN); ln -sf githandoff "$${bin:-$$(go env GOPATH)/bin}/git-handoff"
endif

uninstall: ## remove what "make install" put in place
	bin=$$(go env GOBIN); bin=$${bin:-$$(go env GOPATH)/bin}; \
	[ "$$(readlink "$$bin/git-handoff")" != githandoff ] || rm "$$bin/git-handoff"; \
	rm -f "$$bin/githandoff" "$$(dirname "$$bin")"/share/man/man1/githandoff.1 \
		"$$(dirname "$$bin")"/share/man/man1/githandoff-*.1 "$$(dirname "$$bin")"/share/man/man1/git-handoff.1

changelog: ## print the fragments of changes/ as a section of CHANGELOG.md
	@for kind in security removed changed added fixed; do \
		set -- changes/$$kind-*.md; [ -e "$$1" ] || continue; \
		printf '### %s\n\n' "$$kind"; \
		for f in "$$@"; do sed '1s/^/- /; 1!s/^/  /' "$$f"; done; echo; \
	done

recording: ## record docs/session.svg, the picture of a session in README, from a real run
	go test ./internal/cli -run TestRecording -update

docs: build recording ## write docs/session.svg, docs/reasons.md and docs/json.md from the code
	go test ./internal -run Page -update
