package rm

import (
	"os"

	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/conf/timeline"
	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/rm/timelineservice/collectors"
)

// appCollectors knows where the collectors of timeline version 2 are; nil: it is off.
func appCollectors(r *ResourceManager) *collectors.Known {
	if _, v2 := timeline.Versions(r.conf); !v2 {
		return nil
	}
	return collectors.New(r.Read, func() int64 { return r.view.Cluster().Timestamp })
}

// collecting returns how the JVM runs that writes entities of timeline version 2. An error says what lacks.
func (r *ResourceManager) collecting() (ondemand.Daemon, error) {
	if err := javaservices.Collecting(r.conf, environ.Of(r.conf.Dir(), os.LookupEnv)); err != nil {
		return ondemand.Daemon{}, err
	}
	return ondemand.Of(r.conf, webHost(r.conf, r.id), r.log), nil
}
