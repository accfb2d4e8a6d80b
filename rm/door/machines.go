package door

import (
	"net/netip"
	"slices"
	"sync"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// machines remembers from where an application's owner and its ApplicationMaster have called. A Spark driver in client mode,
// or an unmanaged ApplicationMaster, shows its pages on a machine that is no node.
type machines struct {
	mu   sync.Mutex
	apps map[records.ApplicationID][]netip.Addr
}

// Bounds of what is remembered.
const (
	maxMachines    = 4 // of an application; the first ones count
	maxMachineApps = 20_000
)

func (m *machines) note(id records.ApplicationID, at netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.apps[id]
	if slices.Contains(known, at) || !at.IsValid() || len(known) == maxMachines {
		return
	}
	if m.apps == nil {
		m.apps = map[records.ApplicationID][]netip.Addr{}
	}
	if known == nil && len(m.apps) >= maxMachineApps {
		for other := range m.apps {
			delete(m.apps, other)
			break
		}
	}
	m.apps[id] = append(known, at)
}

func (m *machines) of(id records.ApplicationID) (hosts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.apps[id] {
		hosts = append(hosts, a.String())
	}
	return hosts
}

// maxNodes bounds the nodes of an application whose containers are looked at.
const maxNodes = 1000

// Note remembers that an application's owner or its ApplicationMaster has called from there.
func (d *Door) Note(id records.ApplicationID, who Caller) { d.machines.note(id, who.Address) }

// MachinesOf returns the hosts that an application has something to do with: those of its containers that live, and those that
// its owner and its ApplicationMaster have called from.
func (d *Door) MachinesOf(id records.ApplicationID) []string {
	hosts := map[string]bool{}
	d.View.Source.Read(func(st *ledger.State) {
		app := st.Apps[id]
		if app == nil {
			return
		}
		if a := app.Current(); a != nil {
			if c := app.Containers.Get(a.AMContainer); c != nil {
				hosts[c.Node.Host] = true
			}
		}
		seen := 0
		for c := range app.Containers.All() {
			if seen++; seen > maxNodes {
				break
			}
			hosts[c.Node.Host] = true
		}
	})
	list := d.machines.of(id)
	for h := range hosts {
		list = append(list, h)
	}
	return list
}
