// Package flow says to which flow of timeline version 2 an application belongs: what is run again and again under one name (Hadoop: TimelineUtils,
// RMTimelineCollectorManager.doPostPut, AMLauncher.setFlowContext). It has what ResourceManagers and nodes share of that version, too.
package flow

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/yarn/records"
)

// Names of an ApplicationMaster's variables by which its node knows the flow. A tag begins with one of them, in any case, and a colon.
const (
	Name    = "TIMELINE_FLOW_NAME_TAG"
	Version = "TIMELINE_FLOW_VERSION_TAG"
	Run     = "TIMELINE_FLOW_RUN_ID_TAG"
)

// Flow is a run of a flow.
type Flow struct {
	Name, Version string
	Run           int64 // by default when the application was submitted, ms since 1970
}

// Of returns the flow of an application by its name, its tags and when it was submitted, ms since 1970. A run that is no number is as none.
func Of(id records.ApplicationID, name string, tags []string, submitted int64) Flow {
	f := Flow{name, "1", submitted}
	if name == "" || name == "N/A" {
		f.Name = fmt.Sprintf("flow_%d_%d", id.ClusterTimestamp, id.ID)
	}
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag, ":")
		if value == "" {
			continue
		}
		switch strings.ToUpper(key) {
		case Name:
			f.Name = value
		case Version:
			f.Version = value
		case Run:
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				f.Run = n
			}
		}
	}
	return f
}

// Parse returns the flow that variables name; an application without them has none (Hadoop: ContainerManagerImpl.getFlowContext).
func Parse(variable func(name string) string) Flow {
	run, _ := strconv.ParseInt(variable(Run), 10, 64) // 0 is none
	return Flow{variable(Name), variable(Version), run}
}

// Variables returns names and values in turn.
func (f Flow) Variables() []string {
	return []string{Name, f.Name, Version, f.Version, Run, strconv.FormatInt(f.Run, 10)}
}
