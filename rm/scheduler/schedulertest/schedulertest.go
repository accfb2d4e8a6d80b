// Package schedulertest has the sizes, requests and queues that tests of several parts of the scheduler share.
package schedulertest

import (
	"maps"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/demand"
	"heddle/yarn/records"
)

// GB is so many GB of memory and as many cores.
func GB(n int64) records.Resource { return records.NewResource(n<<10, n) }

// Row returns a request for so many containers of a size in GB, on any node.
func Row(count int32, size int64) demand.Ask {
	return demand.Ask{Name: demand.Any, Count: count, Capability: GB(size), RelaxLocality: true}
}

// At returns a request with its containers preferred on a host or rack.
func At(r demand.Ask, name string) demand.Ask {
	r.Name, r.RelaxLocality = name, true
	return r
}

// Only returns a request whose containers may go nowhere else than where further rows prefer them.
func Only(r demand.Ask) demand.Ask {
	r.RelaxLocality = false
	return r
}

// Halves are two capacity queues, a and b, of half of the cluster each, in which limits of users and ApplicationMasters don't bind, and
// nothing waits for a better place; more are further settings.
func Halves(t testing.TB, more map[string]string) *queue.Tree {
	t.Helper()
	settings := map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "maximum-am-resource-percent": "1",
		"root.a.user-limit-factor": "10", "root.b.user-limit-factor": "10", "node-locality-delay": "-1",
	}
	maps.Copy(settings, more)
	tree, err := queue.ParseCapacity(settings)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
