package hadooplab

import (
	"context"
	"maps"
	"strings"

	"heddle/conf/secure"
)

// readerSite are the settings of timeline version 2, which stores files in a folder.
func readerSite(o Options, address, folder string) map[string]string {
	const service, storage = "yarn.timeline-service.", "org.apache.hadoop.yarn.server.timelineservice.storage.FileSystemTimeline"
	s := map[string]string{
		service + "enabled":                                      "true",
		service + "versions":                                     "2.0f",
		service + "version":                                      "2.0f",
		service + "writer.class":                                 storage + "WriterImpl",
		service + "reader.class":                                 storage + "ReaderImpl",
		service + "fs-writer.root-dir":                           "file://" + folder,
		service + "reader.webapp.address":                        address,
		service + "reader.bind-host":                             "localhost",
		service + "collector.bind-host":                          "localhost",
		service + "app-collector.linger-period.ms":               "5000",
		"yarn.system-metrics-publisher.enabled":                  "true",
		"yarn.nodemanager.aux-services":                          "mapreduce_shuffle,timeline_collector",
		"yarn.nodemanager.aux-services.timeline_collector.class": "org.apache.hadoop.yarn.server.timelineservice.collector.PerNodeTimelineCollectorsAuxService",
	}
	if o.TimelineServer {
		maps.Copy(s, map[string]string{service + "versions": "1.5f,2.0f"})
	}
	return s
}

// unauthorized ends the error of a call without the ticket that it needs.
const unauthorized = "401 Authentication required"

// startReader starts a reader of timeline version 2, if the lab has one, and waits until it answers.
func startReader(ctx context.Context, l *Lab) error {
	if !l.options.TimelineReader {
		return nil
	}
	if err := l.launch("timelinereader", "org.apache.hadoop.yarn.server.timelineservice.reader.TimelineReaderServer"); err != nil {
		return err
	}
	return l.poll(ctx, "the timeline reader", func(ctx context.Context) error {
		_, err := l.fetch(ctx, "timeline-reader", "/ws/v2/timeline/", "application/json")
		if l.site[secure.Authentication] == "kerberos" && err != nil && strings.HasSuffix(err.Error(), unauthorized) {
			return nil // it answers those who have a ticket
		}
		return err
	})
}
