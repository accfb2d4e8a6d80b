package queueedit

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"heddle/rm/leader"
	"heddle/rm/leader/queueconf"
	"heddle/rm/leader/trial"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// trialInfo says what would come of a change of queues.
type trialInfo struct {
	Version  int64      `yarn:"versionID"`
	Refused  string     `yarn:"refused,omitempty"` // why the change would be refused
	Changes  []setting  `yarn:"change"`
	Stranded []stranded `yarn:"stranded"`
	Starts   []start    `yarn:"start"`
	Losses   []loss     `yarn:"loss"`
	More     bool       `yarn:"more"`
	Seconds  int64      `yarn:"seconds"` // of the cluster's time that were tried
}

// setting is a key whose value changes. nil: it isn't set.
type setting struct {
	Key    string  `yarn:"key"`
	Before *string `yarn:"before"`
	After  *string `yarn:"after"`
}

type stranded struct {
	App   string `yarn:"applicationId"`
	User  string `yarn:"user"`
	Queue string `yarn:"queue"`
	Why   string `yarn:"reason"`
}

type start struct {
	App    string `yarn:"applicationId"`
	User   string `yarn:"user"`
	Queue  string `yarn:"queue"`
	Now    int    `yarn:"containers"`       // that would start
	Before int    `yarn:"containersAsItIs"` // that would start without the change
}

type loss struct {
	Container string `yarn:"containerId"`
	Queue     string `yarn:"queue"`
	Resource  string `yarn:"resource"`
	How       string `yarn:"how"`
	Reason    string `yarn:"reason"`
}

// changes lists the keys whose values differ.
func changes(before, after map[string]string) (out []setting) {
	keys := map[string]bool{}
	for k, v := range before {
		if w, ok := after[k]; !ok || v != w {
			keys[k] = true
		}
	}
	for k := range after {
		if _, ok := before[k]; !ok {
			keys[k] = true
		}
	}
	value := func(m map[string]string, k string) *string {
		if v, ok := m[k]; ok {
			return &v
		}
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, setting{k, value(before, k), value(after, k)})
	}
	return out
}

// Try answers what would come of the change in a request. whyNot and refused give refusals the words of REST.
func Try(c *yarnrest.Call, admin *queueconf.Admin, types records.ResourceTypes, whyNot func(error) string, refused func(error) error) (yarnrest.Reply, error) {
	change, err := Read(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	t, err := admin.Try(change)
	if errors.Is(err, leader.ErrDeposed) {
		return yarnrest.Reply{}, refused(err)
	}
	if err != nil {
		return yarnrest.Say(http.StatusBadRequest, "%s", whyNot(err)), nil
	}
	out := trialInfo{Version: t.Version, Changes: changes(t.Before, t.After), More: t.Outcome.More, Seconds: trial.Span / 1000}
	if t.Refused != nil {
		out.Refused = whyNot(t.Refused)
	}
	for _, x := range t.Stranded {
		out.Stranded = append(out.Stranded, stranded{x.App.String(), x.User, x.Queue, x.Why})
	}
	for _, x := range t.Outcome.Starts {
		out.Starts = append(out.Starts, start{x.App.String(), x.User, x.Queue, x.Containers, x.Before})
	}
	for _, x := range t.Outcome.Losses {
		out.Losses = append(out.Losses, loss{x.Container.String(), x.Queue, types.Format(x.Resource), x.How, x.Reason})
	}
	return yarnrest.OK("trial", yarnrest.Natural, out), nil
}
