# Heddle. `make demo` shows it working, `make test` proves it; both work on a fresh clone.

GO            ?= go
VERSION       := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BUILT         := $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS       := -s -w -X heddle/conf.Version=$(VERSION) -X heddle/conf.Built=$(BUILT)
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM     := gotest.tools/gotestsum@v1.13.0
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
BENCHTIME     ?= 1s
TOOLS         := $(CURDIR)/bin/tools

# All commands compile alike, also those of tests that build: each other set of flags would compile the standard library and all packages once more.
# Only the race detector needs cgo.
export CGO_ENABLED ?= 0
export GOFLAGS     += -trimpath

.PHONY: screenshots install invariants campaign fuzz mutants virtual-machines integration integration-full build demo demo-stop prerequisites test bench lint generate clean

build:
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/heddle ./cmd/heddle-lab

PREFIX ?= /usr/local
install: build
	install -D -m 0755 -t $(DESTDIR)$(PREFIX)/bin bin/heddle bin/heddle-lab

# KEEP=1 leaves the cluster running, demo-stop ends it; INPUT=folder counts other words.
demo: build
	@$(GO) run ./integration/demo -heddle bin/heddle $(if $(INPUT),-input $(INPUT)) $(if $(KEEP),-keep)

demo-stop:
	@$(GO) run ./integration/demo -stop

# The pictures of README and documents, of a cluster under load; takes five minutes.
screenshots: prerequisites build
	HEDDLE_BINARY=$(CURDIR)/bin/heddle HEDDLE_PICTURES=$(CURDIR)/docs/images $(GO) test -count=1 -timeout 15m -run TestPictures ./integration/browser

bench: build
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...
	bin/heddle-lab bench rm

# The scheduler checks itself with every decision, and ResourceManagers the ledger with every batch, while random events, simulations and
# falling leaders pass over them. It takes a minute or two, most of it in the chaos test, which `make test` runs in the same way.
INVARIANTS := ./rm/ledger ./rm/scheduler/... ./rm/leader/... ./rm ./sim/...

invariants:
	$(GO) test -count=1 -tags invariants $(INVARIANTS)
	$(GO) test -count=1 -tags invariants -run LeadersFall ./integration/chaos

# Tests of daemons, disks and clocks share two cores with each other, and one of thousands may wait for its turn too long. A test that fails is
# run once more by itself; `make test` names it at its end, and it is a fault to be mended. Nothing is run again after a data race, a panic, or
# more than three failures. `make lint` has vetted all.
TESTSUM = $(TOOLS)/gotestsum --format standard-quiet --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-abort-on-data-race \
	--rerun-fails-run-root-test --hide-summary=skipped --rerun-fails-report=bin/rerun-$(1).txt --packages="$(2)" -- -count=1 -vet=off -ldflags='-s -w' -timeout 25m $(3)

# Packages without goroutines have no races. Their tests compute for long, and take a fraction of the time without the race detector.
SEQUENTIAL := ./rm/ledger/... ./rm/receipt ./rm/raft/witness ./rm/scheduler ./rm/scheduler/core ./rm/scheduler/drive ./rm/scheduler/preempt ./rm/scheduler/policy/... \
	./sim ./sim/hybrid ./sim/mapreduce ./sim/trace ./am/stage ./am/speculate ./am/slowstart ./internal/mutate ./internal/house ./internal/packages \
	./sim/study/...

# The integration tests start processes of the binary, which is built without the race detector anyway. A program with it sleeps for a second
# at its end, lest a goroutine finds a race only then: 250 packages in a row would sleep for two minutes.
test: prerequisites build lint
	@GOBIN=$(TOOLS) $(GO) install $(GOTESTSUM)
	@rm -f bin/rerun-*.txt
	@$(GO) list $(SEQUENTIAL) >bin/sequential.txt
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 $(call TESTSUM,units,$$($(GO) list ./... | grep -v /integration/ | grep -vxFf bin/sequential.txt),-race)
	$(call TESTSUM,sequential,$$(cat bin/sequential.txt))
	HEDDLE_BINARY=$(CURDIR)/bin/heddle $(call TESTSUM,integration,./integration/...)
	@if cat bin/rerun-*.txt 2>/dev/null | grep .; then echo "these tests failed, and passed by themselves: mend them"; fi

# Jobs of Hadoop's and Spark's own clients; with integration-full also what takes long.
integration: build
	$(GO) test -count=1 -timeout 25m ./integration/...

integration-full: build
	HEDDLE_TEST_FULL=1 $(GO) test -count=1 -timeout 60m ./integration/...

# What tests need beyond Go, Java, Maven and Python: a browser, a Kerberos KDC, LDAP, an OCI runtime, a registry of images, squashfs, and virtual machines.
prerequisites: virtual-machines
	@command -v jq >/dev/null && command -v curl >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends curl jq >/dev/null; }
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; }
	@command -v krb5kdc >/dev/null && command -v kadmin.local >/dev/null && command -v kinit >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends krb5-kdc krb5-admin-server krb5-user >/dev/null; }
	@command -v slapd >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends slapd >/dev/null; }
	@command -v crun >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends crun >/dev/null; }
	@command -v docker-registry >/dev/null && command -v sqfs2tar >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends docker-registry squashfs-tools-ng >/dev/null; }

# FAULTS=100 strikes less often, SEED=7 FROM=120 plays again what a campaign with that seed did from its 120th fault on.
campaign: build virtual-machines
	nice bin/heddle-lab campaign --faults $(or $(FAULTS),1000) --from $(or $(FROM),0) $(if $(SEED),--seed $(SEED)) --json campaign.json

# Each fuzz target for ten seconds, which takes half an hour with the builds; one binary for each package holds its targets. A target must try
# some hundred inputs a second. The fuzzer would spend a minute on shrinking each input that reaches new code, so it has ten tries for that.
# What it finds stays in the package's testdata, and what it has tried in bin/fuzz. FUZZ=rm/rest fuzzes one package.
FUZZTIME ?= 10s
fuzz:
	@mkdir -p bin/fuzz; failed=0; \
	for package in $(or $(FUZZ),$$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u)); do \
		$(GO) test -c -vet=off -fuzz=. -o bin/fuzz.test ./$$package || { failed=1; continue; }; \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$package/*_test.go); do \
			echo "$$target in $$package"; \
			(cd $$package && $(CURDIR)/bin/fuzz.test -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzminimizetime 10x -test.fuzzcachedir $(CURDIR)/bin/fuzz/$$package) || failed=1; \
		done; \
	done; exit $$failed

# What tests notice of small changes of the code. N mutants of each group of packages are tried: 200 take less than an hour on two processors,
# and 60 a quarter of an hour. N=0 tries all of them, SEED=2 draws others. In each group tests must notice 85 %.
MUTATE := nice $(GO) run ./internal/mutate -n $(or $(N),200) -seed $(or $(SEED),1) -min 85
MUTATED := './rm/ledger ./rm/ledger/limit' ./rm/leader/pipeline './rm/leader/placement ./rm/leader/request ./rm/leader/report' ./rm/leader/swap ./rm/leader/level ./rm/leader/opportunity \
	./rm/scheduler/drive ./rm/scheduler/eventlog '-tags invariants ./rm/scheduler/preempt' \
	"-tags invariants $$($(GO) list ./rm/scheduler/... | grep -v -e /drive -e /eventlog -e /preempt)" \
	./am/sched ./am/slowstart ./am/speculate ./am/stage './nm/probe ./nm/staging'

mutants:
	@failed=0; for group in $(MUTATED); do echo "mutants of" $$group; $(MUTATE) $$group || failed=1; done; exit $$failed

virtual-machines:
	@command -v qemu-system-x86_64 >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends qemu-system-x86 e2fsprogs dmsetup >/dev/null; }

lint:
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) $(GO) install $(GOFUMPT)
	@GOBIN=$(TOOLS) $(GO) install $(STATICCHECK)
	@unformatted=$$($(TOOLS)/gofumpt -l $$(git ls-files '*.go' | grep -v '\.pb\.go$$')); \
		if [ -n "$$unformatted" ]; then echo "not gofumpt formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOLS)/staticcheck ./...
	$(GO) test -count=1 -run 'TestNothingIsReachedByItsPath|TestWhoWrites' ./internal/userfiles ./nm/container

# Needs protoc (Debian: protobuf-compiler). The generated code is committed.
generate:
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install $(PROTOC_GEN_GO)
	PATH=$(TOOLS):$$PATH protoc --go_out=. --go_opt=module=heddle,default_api_level=API_OPAQUE $$(git ls-files 'yarn/*.proto')
	PATH=$(TOOLS):$$PATH protoc --go_out=. --go_opt=module=heddle $$(git ls-files 'rm/*.proto')

clean:
	rm -rf bin
