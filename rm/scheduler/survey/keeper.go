package survey

import (
	"cmp"
	"slices"

	"heddle/internal/prefetch"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Keeper has a Cluster while it is needed, and keeps speeds in any case. The zero value is ready.
type Keeper struct {
	speeds  []hostSpeed // by name of the host
	cluster *Cluster
}

type hostSpeed struct {
	host string
	of   [Tasks]float64
}

// NoteSpeed is SetSpeed, also for clusters to come.
func (k *Keeper) NoteSpeed(host string, t Task, speed float64) {
	speed = max(0, speed)
	i, known := slices.BinarySearchFunc(k.speeds, host, func(h hostSpeed, host string) int { return cmp.Compare(h.host, host) })
	if !known {
		k.speeds = slices.Insert(k.speeds, i, hostSpeed{host: host})
	}
	if k.speeds[i].of[t] = speed; k.speeds[i].of == [Tasks]float64{} {
		k.speeds = slices.Delete(k.speeds, i, i+1)
	}
	if k.cluster != nil {
		k.cluster.SetSpeed(host, t, speed)
	}
}

// Fetch has memory come of a node on which something will end soon. It changes nothing.
func (k *Keeper) Fetch(n handle.Node) {
	if c := k.cluster; c != nil && int(n) < len(c.nodes) {
		prefetch.Of(&c.nodes[n].speed)
		prefetch.Of(&c.nodes[n].live)
	}
}

// Cluster returns the cluster; one that is made now is filled by a function.
func (k *Keeper) Cluster(fill func()) *Cluster {
	if k.cluster == nil {
		k.cluster = New()
		for _, h := range k.speeds {
			for t, speed := range h.of {
				k.cluster.SetSpeed(h.host, Task(t), speed)
			}
		}
		fill()
	}
	return k.cluster
}

// Drop forgets the cluster.
func (k *Keeper) Drop() { k.cluster = nil }

// Enter is the cluster's Enter, if there is one.
func (k *Keeper) Enter(h handle.Node, host string, capability records.Resource) {
	if k.cluster != nil {
		k.cluster.Enter(h, host, capability)
	}
}

// Leave is the cluster's Leave, if there is one.
func (k *Keeper) Leave(h handle.Node) {
	if k.cluster != nil {
		k.cluster.Leave(h)
	}
}

// Refresh is the cluster's Refresh, if there is one.
func (k *Keeper) Refresh(now int64, types int) bool {
	return k.cluster != nil && k.cluster.Refresh(now, types)
}
