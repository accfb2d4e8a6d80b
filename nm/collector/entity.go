package collector

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"heddle/nm/allocation"
	"heddle/nm/container"
	"heddle/nm/monitor"
	"heddle/yarn/flow"
	"heddle/yarn/records"
)

// of returns an entity without news.
func of(id records.ContainerID) flow.Entity {
	return flow.Entity{
		Type: "YARN_CONTAINER", ID: id.String(), Prefix: math.MaxInt64 - id.ID, Metrics: []flow.Metric{},
		Events: []flow.Event{},
		Info:   map[string]any{"SYSTEM_INFO_PARENT_ENTITY": map[string]any{"type": "YARN_APPLICATION_ATTEMPT", "id": id.Attempt.String()}},
	}
}

// happened returns an entity with an event (Hadoop: NMTimelinePublisher).
func happened(id records.ContainerID, what string, at time.Time) flow.Entity {
	e := of(id)
	e.Events = append(e.Events, flow.Event{ID: what, At: at.UnixMilli(), Info: map[string]any{}})
	return e
}

// created tells of a container that a node has accepted. web is the address of the node's pages.
func created(g allocation.Grant, node records.NodeID, web string, at time.Time) flow.Entity {
	e := happened(g.ID, "YARN_CONTAINER_CREATED", at)
	e.Created = at.UnixMilli()
	const allocated = "YARN_CONTAINER_ALLOCATED_"
	e.Info[allocated+"MEMORY"], e.Info[allocated+"VCORE"] = g.Resource.MemoryMB(), g.Resource.VCores()
	e.Info[allocated+"HOST"], e.Info[allocated+"PORT"] = node.Host, node.Port
	e.Info[allocated+"PRIORITY"], e.Info[allocated+"HOST_HTTP_ADDRESS"] = strconv.Itoa(int(g.Priority)), web
	return e
}

// moved tells of a container that was suspended or resumed; ok is false for other transitions.
func moved(id records.ContainerID, from, to container.State, at time.Time) (e flow.Entity, ok bool) {
	word := "resumed"
	switch {
	case from == container.Pausing && to == container.Paused:
		word = "paused"
	case from != container.Resuming || to != container.Running && to != container.Reinitializing:
		return flow.Entity{}, false
	}
	e = happened(id, "YARN_CONTAINER_"+strings.ToUpper(word), at)
	e.Info["YARN_CONTAINER_DIAGNOSTICS_INFO"] = fmt.Sprintf("Container %s was %s", id, word)
	return e, true
}

// killed tells of a container that was killed, and why.
func killed(id records.ContainerID, exit int, diagnostics string, at time.Time) flow.Entity {
	e := happened(id, "YARN_CONTAINER_KILLED", at)
	e.Info["YARN_CONTAINER_DIAGNOSTICS_INFO"], e.Info["YARN_CONTAINER_EXIT_STATUS"] = diagnostics, exit
	return e
}

// finished tells of a container's end.
func finished(id records.ContainerID, exit int, diagnostics string, at time.Time) flow.Entity {
	e := happened(id, "YARN_CONTAINER_FINISHED", at)
	e.Info["YARN_CONTAINER_DIAGNOSTICS_INFO"], e.Info["YARN_CONTAINER_EXIT_STATUS"] = diagnostics, exit
	e.Info["YARN_CONTAINER_STATE"], e.Info["YARN_CONTAINER_FINISHED_TIME"] = "COMPLETE", at.UnixMilli()
	return e
}

// used tells what a container uses: memory in bytes, and hundredths of a core.
func used(id records.ContainerID, u monitor.Usage) flow.Entity {
	e, at := of(id), u.At.UnixMilli()
	for name, value := range map[string]int64{"MEMORY": u.Physical, "CPU": int64(math.Round(100 * u.CPU))} {
		e.Metrics = append(e.Metrics, flow.Metric{Type: "SINGLE_VALUE", ID: name, Aggregation: "SUM", Values: map[int64]int64{at: value}})
	}
	return e
}
