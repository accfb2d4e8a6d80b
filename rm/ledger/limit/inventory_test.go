package limit

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/ledgertest"
)

// inventory says of each kind of command in which line of the table of docs/disk.md the bounds stand of what it leaves in the ledger; "" if it
// leaves nothing, or takes something away.
var inventory = map[protoreflect.Name]string{
	"cluster_created":         "keys, leaders, versions",
	"leader_started":          "keys, leaders, versions",
	"leadership_offered":      "keys, leaders, versions",
	"ledger_version_raised":   "keys, leaders, versions",
	"key_rolled":              "keys, leaders, versions",
	"key_activated":           "",
	"application_id_issued":   "application ids that nobody has used",
	"application_submitted":   "applications that have not ended",
	"application_updated":     "priority, lifetime, queue, kill of an application",
	"application_ended":       "ended applications",
	"applications_forgotten":  "",
	"attempt_started":         "applications that have not ended",
	"attempt_launched":        "",
	"attempt_registered":      "applications that have not ended",
	"attempt_finishing":       "applications that have not ended",
	"attempt_ended":           "applications that have not ended",
	"containers_allocated":    "containers",
	"containers_running":      "",
	"containers_completed":    "containers",
	"containers_reported":     "",
	"containers_suspended":    "containers",
	"containers_resumed":      "",
	"container_resized":       "containers",
	"container_confirmed":     "containers",
	"container_level_changed": "containers",
	"node_registered":         "nodes",
	"node_updated":            "nodes",
	"node_forgotten":          "",
	"delegation_issued":       "delegation tokens",
	"delegation_renewed":      "",
	"delegations_ended":       "",
	"queues_configured":       "configuration of queues",
	"queues_changed":          "queues created on demand",
	"node_labels_changed":     "labels of nodes",
	"usage_sampled":           "history of use",
	"node_attributes_changed": "attributes of nodes",
	"course_noted":            "what receipts need of an application",
}

// Whoever adds a kind of command says here, and to administrators, what bounds that which it leaves behind.
func TestEveryCommandLeavesBehindWhatHasABound(t *testing.T) {
	page, err := os.ReadFile("../../../docs/disk.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What requests may leave behind")
	kinds := (&ledgerpb.Command{}).ProtoReflect().Descriptor().Fields()
	for i := range kinds.Len() {
		name := kinds.Get(i).Name()
		line, ok := inventory[name]
		if !ok {
			t.Errorf("%s has no bound: add one to limit.Bounds or say why it needs none, describe it in docs/disk.md, and list it here", name)
		}
		if line != "" && !strings.Contains(table, "\n| "+line) {
			t.Errorf("%s: the table of docs/disk.md has no line %q", name, line)
		}
	}
	if len(inventory) != kinds.Len() {
		t.Errorf("%d kinds are listed, and there are %d", len(inventory), kinds.Len())
	}
}

// Where a bound is reached, what ApplicationMasters and nodes say takes a few kilobytes.
func TestShortenedCommandsAreSmall(t *testing.T) {
	for _, c := range ledgertest.EveryCommand(strings.Repeat("ü", MaxText)) {
		if c.QueuesConfigured != nil || c.ApplicationSubmitted != nil {
			continue // refused instead, or an administrator's
		}
		Clean(c)
		Shorten(c)
		if n := proto.Size(c); n > 4*MaxBrief {
			t.Errorf("%d bytes of %.60v", n, c)
		}
	}
}
