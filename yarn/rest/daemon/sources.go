package daemon

import (
	"strings"

	"heddle/yarn/account"
)

// Users returns the bean UgiMetrics: how often the machine was asked for users' groups. Logins are always 0 without
// Kerberos.
func Users(service, host string) Bean {
	asked, took := account.System.Asked()
	mean := 0.0
	if asked > 0 {
		mean = float64(took.Milliseconds()) / float64(asked)
	}
	return Bean{"Hadoop:service=" + service + ",name=UgiMetrics", "UgiMetrics", []Attr{
		{"tag.Context", "ugi"},
		{"tag.Hostname", host},
		{"GetGroupsNumOps", asked},
		{"GetGroupsAvgTime", mean},
		{"LoginFailureNumOps", 0},
		{"LoginFailureAvgTime", 0.0},
		{"LoginSuccessNumOps", 0},
		{"LoginSuccessAvgTime", 0.0},
		{"RenewalFailures", 0},
		{"RenewalFailuresTotal", 0},
	}}
}

// Sources returns the beans of Hadoop's metrics system, whose sources are the given beans. There are no sinks:
// monitoring reads the figures itself.
func Sources(service, host string, beans []Bean) []Bean {
	prefix := "Hadoop:service=" + service + ","
	n := 0
	for _, b := range beans {
		if strings.HasPrefix(b.Name, prefix) {
			n++
		}
	}
	return []Bean{
		{prefix + "name=MetricsSystem,sub=Control", "MetricsSystem,sub=Control", nil},
		{prefix + "name=MetricsSystem,sub=Stats", "MetricsSystem,sub=Stats", []Attr{
			{"tag.Context", "metricssystem"},
			{"tag.Hostname", host},
			{"NumActiveSources", n},
			{"NumAllSources", n},
			{"NumActiveSinks", 0},
			{"NumAllSinks", 0},
			{"DroppedPubAll", 0},
			{"PublishNumOps", 0},
			{"PublishAvgTime", 0.0},
			{"SnapshotNumOps", 0},
			{"SnapshotAvgTime", 0.0},
		}},
	}
}
