# What a developer runs. "make check" and "make test" are what CI runs.

BIN       = bin/githandoff
FUZZTIME  = 60s

# What starts goroutines or is meant to be used by many at once.
CONCURRENT = ./internal/gitexec/... ./internal/notes/... ./internal/refs/... \
             ./internal/lifecycle/... ./internal/crossrepo/... ./internal/gittest/...

VERSION = $(shell git describe --always --dirty 2>/dev/null || echo unknown)
BUILD   = -trimpath -ldflags "-X main.version=$(VERSION)"

GOFUMPT      = mvdan.cc/gofumpt@v0.12.0
GOLANGCILINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK  = golang.org/x/vuln/cmd/govulncheck@v1.8.0

.DELETE_ON_ERROR:
.PHONY: help build demo test check bench fuzz fmt lint vuln race install docs

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 10

build: ## build bin/githandoff
	go build $(BUILD) -o $(BIN) ./cmd/githandoff

demo: build ## hand work over between two repositories, start to end
	sh testdata/demo.sh $(BIN)

test: ## run all tests
	go test ./...

check: lint vuln race demo ## all that must hold before a change lands, beside the tests

bench: ## compare with what a user would run instead
	go test ./internal/bench -run '^$$' -bench .

fuzz: ## run every fuzz target for FUZZTIME (60s), one after another
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | \
	while IFS=: read -r file func; do \
		go test "$${file%/*}" -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x </dev/null || exit 1; \
	done

fmt: ## format the source
	go run $(GOFUMPT) -w .

lint: ## look for mistakes in format, style and layering
	@files=$$(go run $(GOFUMPT) -l .) && test -z "$$files" || { echo "make fmt would change:"; echo "$$files"; exit 1; }
	go vet ./...
	go run $(GOLANGCILINT) run

# go run turns every failure into status 1, so the words must tell a database
# that is out of reach from a finding.
vuln: ## look for known vulnerabilities in what is called
	@out=$$(go run $(GOVULNCHECK) ./... 2>&1) && status=0 || status=1; \
	printf '%s\n' "$$out"; \
	case "$$status $$out" in \
	0*) ;; \
	*"fetching vulnerabilities: "*) echo "vulnerability database not reachable" ;; \
	*) exit 1 ;; \
	esac

race: ## run the concurrent packages' tests under the race detector
	go test -race $(CONCURRENT)

install: ## install githandoff; with GIT_HANDOFF_LINK=1 also as "git handoff"
	go install $(BUILD) ./cmd/githandoff
ifeq ($(GIT_HANDOFF_LINK),1)
	bin=$$(go env GOBIN); ln -sf githandoff "$${bin:-$$(go env GOPATH)/bin}/git-handoff"
endif

docs: build ## write docs/commands.md from the program's own help
	@for c in '' $$($(BIN) __complete '' 2>/dev/null | sed '/^:/d; s/	.*//'); do \
		printf '## githandoff%s\n\n```text\n' "$${c:+ $$c}"; \
		$(BIN) $$c --help || exit 1; \
		printf '```\n\n'; \
	done >docs/commands.md
