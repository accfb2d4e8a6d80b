// Package losses knows settings of a working YARN that would silently mean something else in Heddle.
package losses

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"heddle/conf"
)

const (
	classKey  = "yarn.resourcemanager.scheduler.class"
	storeKey  = "yarn.scheduler.configuration.store.class"
	labelsKey = "yarn.node-labels.enabled"

	distributedKey = "yarn.nodemanager.distributed-scheduling.enabled"
	centralKey     = "yarn.resourcemanager.opportunistic-container-allocation.enabled"

	labelStoreKey = "yarn.node-labels.fs-store.root-dir"
)

// Of warns of what a ResourceManager won't take over from YARN: one problem for each loss, which says what will happen.
func Of(c *conf.Config) (all []conf.Problem) {
	warn := func(key string, format string, args ...any) {
		all = append(all, conf.AtKey(c, conf.Warning, key, fmt.Errorf(format, args...)))
	}
	if fair := fairFile(c); fair != "" && !c.IsSet(classKey) {
		warn(classKey, "isn't set, so the CapacityScheduler runs, and none of the queues in %s exists: applications go to root.default, or are refused. "+
			"Cloudera's YARN has the FairScheduler by default: set the class to fair", fair)
	}
	switch store := c.Text(storeKey); store {
	case "", "file":
	case "memory":
		warn(storeKey, "queues that were changed at run time are in the memory of YARN's ResourceManager alone. Heddle starts with those of capacity-scheduler.xml: write them there first (yarn schedulerconf -getConf)")
	default:
		warn(storeKey, "the queues that YARN keeps in this store aren't read. Heddle starts with those of capacity-scheduler.xml, and keeps later changes itself: write them there first (yarn schedulerconf -getConf)")
	}
	if root := c.Text(labelStoreKey); c.Bool(labelsKey) && root != "" && !strings.HasPrefix(root, "/") && !strings.HasPrefix(root, "file:") {
		warn(labelStoreKey, "the labels that YARN keeps there aren't read, as it is no local folder: add them once with heddle rmadmin -addToClusterNodeLabels and -replaceLabelsOnNode, "+
			"or copy nodelabel.mirror and nodelabel.editlog of that folder to each ResourceManager, and name the copy")
	}
	if c.Bool(distributedKey) {
		warn(distributedKey, "nodes don't schedule in Heddle: set %s to true, with which the ResourceManager gives applications the opportunistic containers that they ask for%s, and leave this key out",
			centralKey, map[bool]string{true: " (it is)", false: "; else they get guaranteed ones"}[c.Bool(centralKey)])
	}
	return all
}

// fairFile returns the FairScheduler's file if it is there, "" if it isn't.
func fairFile(c *conf.Config) string {
	if c.Dir() == "" {
		return ""
	}
	name := c.Text("yarn.scheduler.fair.allocation.file")
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir(), name)
	}
	if _, err := os.Stat(name); err != nil {
		return ""
	}
	return name
}
