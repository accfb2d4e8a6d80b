package stage

import (
	"cmp"
	"slices"
	"time"
)

// How long nothing of a job may run while slots without a task hold the outputs of maps, until some of them go: waiting tasks may wait for
// their room. Each time doubles it, as lost outputs must be made again; and as many hosts are freed where one isn't enough.
const (
	roomSuffices = 30 * time.Second // if the room of those on one host is enough
	roomHelps    = 5 * time.Minute  // if others must make room as well
	roomDoubles  = 4                // times at most
)

// makeRoom gives up slots that only hold outputs of maps, if a reduce that needs more memory than they have finds no room beside them, or
// a slot that is suspended finds none to continue. No other slot may ever make room for these.
func makeRoom(m *Planner) {
	if !wedged(m) {
		m.idleSince = never
		return
	}
	if m.idleSince == never {
		m.idleSince, m.helpless = m.now, false
	}
	ids, suffices := countIdle(m)
	patience := roomHelps
	if suffices {
		patience = roomSuffices
	}
	doubled := 1 << min(m.rooms, roomDoubles)
	if len(ids) == 0 || m.now-m.idleSince < patience*time.Duration(doubled) {
		return
	}
	m.rooms++
	m.idleSince = never
	for hosts := 0; len(ids) > 0 && hosts < doubled; hosts++ {
		for _, id := range ids {
			m.do(GiveBack{Slot: id, Room: true})
			m.leave(id, nil, false)
		}
		if suffices || m.over {
			return
		}
		ids, suffices = inTheWay(m)
	}
}

// countIdle leaves out the time for which no slot could make room, as others had that of slots that were suspended. It returns which can now,
// if nothing runs. If the job's own slots are suspended in turn, for one another, one always can.
func countIdle(m *Planner) (ids []SlotID, suffices bool) {
	if m.idleSince == never {
		return nil, false
	}
	if m.helpless {
		m.idleSince += m.now - m.sought
	}
	ids, suffices = inTheWay(m)
	m.sought, m.helpless = m.now, len(ids) == 0
	return ids, suffices
}

// wedged reports whether nothing runs or is about to, though there is something to do, and slots without a task hold outputs. The rest then
// waits for containers, or for slots that are suspended.
func wedged(m *Planner) bool {
	if m.over {
		return false
	}
	holds := false
	for _, id := range m.live {
		s := &m.slots[id]
		if !s.frozen && !s.ready {
			return false
		}
		holds = holds || len(s.outputs) > 0 // one that is suspended may hold them again in a moment
	}
	return holds
}

// inTheWay returns the slots with the fewest outputs that are to go: all on one host. It reports whether their room suffices for a reduce.
// If slots are suspended, it returns one beside them, and whether its room is enough isn't known.
func inTheWay(m *Planner) (ids []SlotID, suffices bool) {
	least := 0
	byHost := map[host][]SlotID{}
	for _, id := range m.live {
		if s := &m.slots[id]; s.ready && !s.frozen {
			byHost[s.host] = append(byHost[s.host], id)
		}
	}
	frozen := slices.ContainsFunc(m.nodes, func(n node) bool { return n.frozen > 0 })
	for h := range m.nodes { // in their order, so that the same events choose the same slots
		slots := byHost[host(h)]
		if len(slots) == 0 || frozen && m.nodes[h].frozen == 0 {
			continue
		}
		slices.SortStableFunc(slots, func(a, b SlotID) int { return cmp.Compare(len(m.slots[a].outputs), len(m.slots[b].outputs)) })
		memory, outputs, n := int64(0), 0, 0
		for n == 0 || n < len(slots) && memory < m.job.ReduceMemory && !frozen {
			memory += m.slots[slots[n]].memory
			outputs += len(m.slots[slots[n]].outputs)
			n++
		}
		enough := !frozen && memory >= m.job.ReduceMemory
		if ids == nil || enough && !suffices || enough == suffices && outputs < least {
			ids, suffices, least = slots[:n], enough, outputs
		}
	}
	return ids, suffices
}

// roomIsForReduces reports whether room was made and the job has no slot yet that does for reduces. It asks for such a slot alone then, which
// does for maps as well: slots for maps would take the room, and hold it again.
func roomIsForReduces(m *Planner) bool {
	return m.rooms > 0 && !m.job.PerTask && len(m.tables[Reduce].all) > 0 &&
		!slices.ContainsFunc(m.live, func(id SlotID) bool { return m.slots[id].memory >= m.job.ReduceMemory })
}
