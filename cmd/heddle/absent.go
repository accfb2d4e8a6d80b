package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// absent are commands of yarn that heddle has not, or under another name, and what does the same.
var absent = []struct{ name, instead string }{
	{"jar", "use Hadoop's `yarn jar` or `hadoop jar`, which work with Heddle, or heddle mr for streaming MapReduce"},
	{"classpath", "use Hadoop's `yarn classpath`; heddle itself needs no class path"},
	{"envvars", "use Hadoop's `yarn envvars`; heddle conf check shows which variables containers get"},
	{"fs2cs", "use Hadoop's `yarn fs2cs`, which converts files and needs no cluster"},
	{"resourcemanager", "start it with heddle rm"},
	{"nodemanager", "start it with heddle nm"},
	{"timelineserver", "use Hadoop's `yarn timelineserver`"},
	{"proxyserver", "Heddle's ResourceManagers serve the proxy, at yarn.web-proxy.address too"},
	{"router", "Heddle has no federation"},
	{"sharedcachemanager", "Heddle has no shared cache of resources"},
	{"registrydns", "use Hadoop's `yarn registrydns`"},
}

// newAbsent returns hidden commands that say what to use instead: without them heddle would guess at a similar name.
func newAbsent() (all []*cobra.Command) {
	for _, a := range absent {
		all = append(all, &cobra.Command{
			Use: a.name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return fmt.Errorf("there is no heddle %s: %s", a.name, a.instead)
			},
		})
	}
	return all
}
