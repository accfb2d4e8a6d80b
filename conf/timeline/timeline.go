// Package timeline reads which versions of YARN's timeline service a cluster has.
package timeline

import (
	"strconv"
	"strings"

	"heddle/conf"
)

// Keys of the timeline service.
const (
	Prefix     = "yarn.timeline-service."
	EnabledKey = Prefix + "enabled"
)

// Versions reports which versions are on: 1.0 or 1.5, and 2.0 (Hadoop: YarnConfiguration.timelineServiceV1Enabled, timelineServiceV2Enabled). Both may be.
func Versions(c *conf.Config) (v1, v2 bool) {
	if !c.Bool(EnabledKey) {
		return false, false
	}
	list := c.Strings(Prefix + "versions")
	if len(list) == 0 {
		list = []string{c.Text(Prefix + "version")}
	}
	for _, v := range list {
		switch n, err := strconv.ParseFloat(strings.TrimRight(v, "fFdD"), 32); {
		case err != nil:
		case n >= 1 && n < 2:
			v1 = true
		case n >= 2 && n < 3:
			v2 = true
		}
	}
	return v1, v2
}
