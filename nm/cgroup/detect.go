package cgroup

import (
	"fmt"

	"heddle/nm/cgroup/mounts"

	"github.com/sirupsen/logrus"
)

// Options say where groups are to lie.
type Options struct {
	Kind Kind // Auto or "" for the best there is; another one must work or Detect fails

	// Root is the folder, in every hierarchy, below which groups lie: from the top of the hierarchy if it starts with
	// a slash, from this process's own group otherwise. With "" both are tried with the name heddle.
	Root string

	ID    string // of this NodeManager, on this machine
	Total Limits // for all groups together; Shares is their weight against the machine's other processes

	First bool // this process gets the CPU before all groups do

	Log *logrus.Entry
}

// Detect finds out, by trying, what this process may do with cgroups, and returns the best handler. With Kind Auto it
// never fails for want of cgroups: the handler's Capabilities show what is missing.
func Detect(o Options) (Handler, error) {
	switch o.Kind {
	case "":
		o.Kind = Auto
	case Auto, V2, Hybrid, V1:
	case None:
		return newSignals(o.Log, []string{"no cgroups are used, by configuration"}), nil
	default:
		return nil, fmt.Errorf("heddle.cgroup.kind %q is not one of auto, v2, hybrid, v1, none", o.Kind)
	}
	d, err := detect(o)
	if err == nil {
		return d, nil
	}
	if o.Kind != Auto {
		return nil, fmt.Errorf("cgroups of kind %s (heddle.cgroup.kind): %w", o.Kind, err)
	}
	o.Log.WithError(err).Warn("no cgroups can be used; containers are held together by their process trees")
	return newSignals(o.Log, []string{fmt.Sprintf("no cgroups can be used: %v", err)}), nil
}

func detect(o Options) (Handler, error) {
	found, own, err := mounts.Look()
	if err != nil {
		return nil, err
	}
	s := site{tree: kernelTree{}, mounts: found, own: own, root: o.Root, id: o.ID}
	d, err := s.handler(o.Kind)
	if err != nil {
		return nil, err
	}
	if (o.Total != Limits{Shares: o.Total.Shares}) {
		if err := d.limiter.set("", o.Total); err != nil {
			d.Close()
			return nil, fmt.Errorf("limit all containers together: %w", err)
		}
	}
	d.weigh(o.Total.Shares)
	if o.First {
		s.first(d)
	}
	return d, nil
}
