// Package queueedit reads changes of queues from requests, and tries them for the queue editor.
package queueedit

import (
	"strconv"

	"heddle/rm/leader/queueconf"
	"heddle/rm/queue/edit"
	yarnrest "heddle/yarn/rest"
)

// schedulerChange is the body that changes queues (Hadoop: SchedConfUpdateInfo).
type schedulerChange struct {
	Add    []queueParams `yarn:"add-queue"`
	Remove []string      `yarn:"remove-queue"`
	Update []queueParams `yarn:"update-queue"`
	Global []confParams  `yarn:"global-updates"`
}

type queueParams struct {
	Queue  string       `yarn:"queue-name"`
	Params []confParams `yarn:"params"`
}

type confParams struct {
	Entry []confEntry `yarn:"entry"`
}

type confEntry struct {
	Key   string  `yarn:"key"`
	Value *string `yarn:"value"`
}

func settingsOf(params []confParams) (out []edit.Setting) {
	for _, p := range params {
		for _, e := range p.Entry {
			out = append(out, edit.Setting{Key: e.Key, Value: e.Value})
		}
	}
	return out
}

func queueChanges(list []queueParams) (out []edit.Queue) {
	for _, q := range list {
		out = append(out, edit.Queue{Path: q.Queue, Params: settingsOf(q.Params)})
	}
	return out
}

// Read reads a change of queues.
func Read(c *yarnrest.Call) (*edit.Change, error) {
	var in schedulerChange
	if err := c.Decode(yarnrest.Target{Root: "sched-conf", Value: &in}); err != nil {
		return nil, err
	}
	return &edit.Change{Remove: in.Remove, Add: queueChanges(in.Add), Update: queueChanges(in.Update), Global: settingsOf(in.Global)}, nil
}

// Version reads the parameter version: the one that a change is for.
func Version(c *yarnrest.Call) (int64, error) {
	text := c.Query().Get("version")
	if text == "" {
		return queueconf.AnyVersion, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, yarnrest.BadRequest("version must be the number of a configuration of queues, and not %.40q", text)
	}
	return n, nil
}
