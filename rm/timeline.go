package rm

import (
	"heddle/conf/timeline"
	"heddle/rm/timelineservice/collectors"
)

// appCollectors knows where the collectors of timeline version 2 are; nil: it is off.
func appCollectors(r *ResourceManager) *collectors.Known {
	if _, v2 := timeline.Versions(r.conf); !v2 {
		return nil
	}
	return collectors.New(r.Read, func() int64 { return r.view.Cluster().Timestamp })
}
