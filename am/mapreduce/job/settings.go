package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/am/staging"
	"heddle/conf"
)

// followed are the keys of MapReduce that jobs follow.
var followed = []string{
	KeyName, KeyQueue, KeyLabel, KeyPriority, KeyReduces, KeyMapMemory, KeyMapCores, KeyReduceMemory, KeyReduceCores,
	KeyMasterMemory,
	KeyMasterCores, KeyMasterTries, staging.Key, KeySort, KeyFactor, KeyTimeout, KeyMapTries, KeyReduceTries, KeyCopies,
	KeySlowStart, KeySplitMin, KeySplitMax, KeySeparator, KeyFields, KeyNodeFailures,
}

// always are settings that jobs behave by, whatever is set.
var always = map[string]string{
	"mapreduce.input.fileinputformat.input.dir.recursive": "true",
	"mapreduce.map.speculative":                           "false",
	"mapreduce.reduce.speculative":                        "false",
	"mapreduce.framework.name":                            "yarn",
}

// foreign begin the names of keys that are MapReduce's, or Hadoop Streaming's.
var foreign = []string{"mapreduce.", "mapred.", "stream.", "yarn.app.mapreduce."}

// Unused says of a user's settings which have no effect, a line each. Unknown keys are for the commands, which see all
// settings in their environment.
func Unused(c *conf.Config, settings map[string]string) []string {
	var out []string
	problems := c.Validate().Problems
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		name := conf.Canonical(key)
		switch {
		case slices.Contains(followed, name) || always[name] != "" && always[name] == strings.TrimSpace(settings[key]):
		case slices.ContainsFunc(foreign, func(p string) bool { return strings.HasPrefix(name, p) }):
			out = append(out, fmt.Sprintf("%s has no effect on heddle mr%s; commands see it in their environment", key, because(name)))
		default:
			for _, p := range problems {
				if p.Key == name && p.Severity != conf.Error {
					out = append(out, fmt.Sprintf("%s: %s", key, p.Message))
					if p.Suggestion != "" {
						out[len(out)-1] += "; did you mean " + p.Suggestion + "?"
					}
				}
			}
		}
	}
	return out
}

func because(name string) string {
	switch {
	case strings.Contains(name, "java") || strings.Contains(name, "class") || strings.Contains(name, "jvm"):
		return ", which runs no Java"
	case name == "mapreduce.job.maps":
		return "; " + KeySplitMax + " says how much input a map gets, and so how many maps there are"
	case strings.Contains(name, "compress"):
		return ", which doesn't compress what it writes"
	case strings.Contains(name, "speculative"):
		return "; its option -speculation says how tasks are speculated on"
	case always[name] != "":
		return ", for which it is " + always[name]
	}
	return ""
}
