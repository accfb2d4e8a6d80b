package hadooplab

import (
	"regexp"
	"strings"
)

// varying lists texts that differ from run to run.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`localhost([:_])\d+`), "localhost${1}PORT"},
	{regexp.MustCompile(`job_\d+_\d+`), "job_ID"},
	{regexp.MustCompile(`\battempt_\d+_\d+`), "attempt_ID"},
	{regexp.MustCompile(`\b1[78]\d{8,11}\b`), "TIME"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[ ,][^\n\t]*(UTC|20\d\d)( \+0000| 20\d\d)?`), "DATE"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T][\d:,.]+`), "STAMP"},
	{regexp.MustCompile(`\d+ (MB|vcore|example\.com/seat)-seconds`), "N $1-seconds"},
	{regexp.MustCompile(`Current ?Capacity ?: [\d.]+`), "CurrentCapacity: N"}, // the policy's business
	{regexp.MustCompile(`RPC Port : [1-9]\d*`), "RPC Port : PORT"},
	{regexp.MustCompile(`Log Class: .*`), "Log Class: CLASS"},
	{regexp.MustCompile(`PMem:\d+ MB, VMem:\d+ MB, VCores:[0-9.E-]+`), "USE"},
	{regexp.MustCompile(`RemainingTime : \d+seconds`), "RemainingTime : Nseconds"},
	{regexp.MustCompile(`\S*/(bucket-)?logs-\w+/`), "LOGS/"},
}

// Settled returns what a command wrote without what varies from run to run: times, ports, figures of use, and lines of logs and of stacks. names stand for their values.
func Settled(l *Lab, r Result, names map[string]string) string {
	stderr := ""
	for line := range strings.Lines(r.Stderr) {
		if noise.MatchString(line) {
			continue
		}
		stderr += "! " + line
	}
	text := r.Stdout
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += stderr
	for name, value := range names {
		text = strings.ReplaceAll(text, value, name)
	}
	text = strings.ReplaceAll(text, l.Dir(), "LAB")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	return text
}

// noise are lines of logs and of stacks.
var noise = regexp.MustCompile(`^(\d{4}-\d\d-\d\d \S+ (INFO|WARN)|WARNING:|\s*at |\s*\.\.\. \d+ more|\s*$)`)
