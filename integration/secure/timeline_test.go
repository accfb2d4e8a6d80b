package secure

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/integration/timelinereader"
	"heddle/internal/await"
	"heddle/internal/ports"
)

// With Kerberos a MapReduce job writes to its collector of timeline version 2 with the token that the ResourceManager hands its ApplicationMaster. A stock
// reader, which asks for tickets, has the same entities of it as with Hadoop's ResourceManager and NodeManager. Nobody writes without token or ticket.
func TestTimelineReaderWithKerberos(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	of := map[string]string{}
	for _, daemons := range []string{"Heddle", "Hadoop"} {
		t.Run(daemons, func(t *testing.T) { of[daemons] = publishedWithKerberos(t, daemons == "Heddle") })
	}
	if of["Heddle"] != of["Hadoop"] {
		t.Errorf("published:\n%s\nwant\n%s", of["Heddle"], of["Hadoop"])
	}
}

// publishedWithKerberos returns what a reader has of a job.
func publishedWithKerberos(t *testing.T, ours bool) string {
	t.Helper()
	r := newRealm(t, 10*time.Hour)
	site, keys := securedHDFS(r)
	free, release, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	const service = "yarn.timeline-service."
	own := r.Keytab("timeline.keytab", "tl/localhost@"+r.Realm)
	maps.Copy(site, map[string]string{
		service + "principal":                                   "tl/localhost@" + r.Realm,
		service + "keytab":                                      own,
		service + "http-authentication.type":                    "kerberos",
		service + "http-authentication.kerberos.principal":      "HTTP/localhost@" + r.Realm,
		service + "http-authentication.kerberos.keytab":         keys,
		service + "collector.bind-port-ranges":                  fmt.Sprintf("%d-%[1]d", free[0]),
		"yarn.nodemanager.resource-monitor.interval-ms":         "500",
		"yarn.nodemanager.env-whitelist":                        "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
		"yarn.resourcemanager.connect.max-wait.ms":              "150000",
		"yarn.log-aggregation-enable":                           "false", // stock's node can't as another account than its own
		"mapreduce.map.speculative":                             "false",
		"mapreduce.job.emit-timeline-data":                      "true",
		"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "500",
	})
	o := hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, TimelineReader: true, Site: site, Krb5: r.Conf}
	if ours {
		o.Heddle = heddle
	}
	l := hadooplab.Start(t, o)
	makeFolders(t, r, l, keys)
	job, err := l.Try(t.Context(), "", "class", "org.apache.hadoop.mapreduce.SleepJob", "-m", "1", "-r", "0", "-mt", "1000")
	app := submitted.FindString(job.Stderr)
	if err != nil || job.Code != 0 || app == "" {
		t.Fatalf("%v, exit code %d\n%s", err, job.Code, job.Stderr)
	}
	reader := timelinereader.Reader{Lab: l, Get: get}
	flow := reader.Flow(t, app)
	await.Slowly(t, "the end of the job and of its containers is published", func() bool {
		has := func(kind, event string) int {
			return strings.Count(fmt.Sprint(reader.Entities(t, app, flow, kind)), event)
		}
		return has("YARN_APPLICATION", "YARN_APPLICATION_FINISHED") > 0 && has("YARN_CONTAINER", "YARN_CONTAINER_FINISHED ") == 2 && has("MAPREDUCE_JOB", "JOB_FINISHED") > 0
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, fmt.Sprintf("http://localhost:%d/ws/v2/timeline/entities?appid=%s&user.name=alice", free[0], app), strings.NewReader(`{"entities":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger who writes to the collector hears %s", resp.Status)
	}
	return reader.Shapes(t, app, flow)
}
