package main

import "github.com/spf13/pflag"

// sideFlags are the flags of bench rm that compare two kinds of ResourceManagers. At most one of them is given.
type sideFlags struct {
	tabs, partitions, constraints, queues int
	setting                               string
}

// sideNames are the flags' names.
var sideNames = []string{"tabs", "partitions", "constraints", "created-queues", "beside"}

func (s *sideFlags) add(f *pflag.FlagSet) {
	const pairs = ", in turn, and compare them"
	f.IntVar(&s.tabs, "tabs", 0, "start ResourceManagers without and with so many browser tabs on their first page"+pairs)
	f.IntVar(&s.partitions, "partitions", 0, "start ResourceManagers without labels and with nodes of so many labels"+pairs)
	f.IntVar(&s.constraints, "constraints", 0,
		"start ResourceManagers whose ApplicationMasters ask without constraints, and with constraints beside so many requests that no node satisfies"+pairs)
	f.IntVar(&s.queues, "created-queues", 0, "start ResourceManagers with one queue and with so many that are created on demand"+pairs)
	f.StringVar(&s.setting, "beside", "", "KEY=VALUE: start ResourceManagers without and with this setting on this machine"+pairs)
}

// sides returns what is compared, if anything is.
func (s *sideFlags) sides() (sides [2]besideSide, compare bool, err error) {
	switch {
	case s.tabs > 0:
		return withTabs(s.tabs), true, nil
	case s.partitions > 0:
		return withPartitions(s.partitions), true, nil
	case s.constraints > 0:
		return withConstraints(s.constraints), true, nil
	case s.queues > 0:
		return withQueues(s.queues), true, nil
	case s.setting != "":
		sides, err = withSetting(s.setting)
		return sides, true, err
	}
	return sides, false, nil
}
