package secure

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// commandsByTicket are given to a secured cluster, each by the user before the colon: root owns the job, bob is a stranger, yarn administers, oozie acts for root and may, joe acts for
// root and may not, nobody has no ticket. At ":running" a job's map runs, at ":over" the job has been killed.
const commandsByTicket = `
root: yarn rmadmin -refreshQueues
root: yarn rmadmin -getGroups root
root: yarn application -status application_1_0001
root: mapred queue -showacls
root: mapred job -list
yarn: yarn rmadmin -refreshQueues
yarn: yarn rmadmin -refreshNodes
yarn: yarn rmadmin -refreshServiceAcl
yarn: yarn rmadmin -getGroups root nosuchuser
yarn: yarn rmadmin -addToClusterNodeLabels a
yarn: yarn rmadmin -replaceLabelsOnNode localhost=a
yarn: yarn rmadmin -updateNodeResource localhost:1 6144 8
yarn: yarn node -list
oozie: yarn rmadmin -refreshQueues
joe: yarn application -list
joe: mapred job -list
nobody: yarn node -list
nobody: mapred job -list
:running
root: yarn application -list
root: yarn application -status {app}
root: yarn applicationattempt -list {app}
root: yarn applicationattempt -status {attempt}
root: yarn container -list {attempt}
root: yarn container -status {container}
root: mapred job -list
root: mapred job -list-attempt-ids {job} MAP running
root: mapred job -counter {job} org.apache.hadoop.mapreduce.JobCounter TOTAL_LAUNCHED_MAPS
root: mapred queue -info default
root: yarn application -updatePriority 5 -appId {app}
oozie: yarn application -status {app}
oozie: mapred job -list-attempt-ids {job} MAP running
bob: yarn application -list
bob: yarn application -status {app}
bob: yarn applicationattempt -list {app}
bob: yarn container -list {attempt}
bob: yarn container -status {container}
bob: yarn container -signal {container} OUTPUT_THREAD_DUMP
bob: yarn application -kill {app}
bob: yarn application -movetoqueue {app} -queue default
bob: yarn application -appId {app} -updatePriority 5
bob: yarn application -appId {app} -updateLifetime 500
bob: yarn applicationattempt -fail {attempt}
bob: mapred job -kill {job}
bob: mapred job -list-attempt-ids {job} MAP running
bob: mapred job -set-priority {job} LOW
bob: yarn logs -applicationId {app} -log_files syslog
yarn: yarn application -status {app}
root: mapred job -kill {job}
:over
root: yarn application -status {app}
root: yarn application -kill {app}
root: mapred job -kill {job}
bob: yarn application -kill {app}
bob: yarn application -status {app}
`

// Hadoop's commands say the same to users of a secured cluster, rightful and others, whether its daemons are Heddle's or Hadoop's; and so does distcp.
func TestCommandsByTicketAsOnYARN(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	want, got := answers(t, allStock), answers(t, "")
	for i := range want {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("(-stock +Heddle):\n%s", diff)
		}
	}
}

// answers gives the commands to a cluster, and returns what each says.
func answers(t *testing.T, stock string) (all []string) {
	t.Helper()
	m := newMixed(t, stock, "privacy", map[string]string{
		"yarn.resourcemanager.connect.max-wait.ms": "30000", "hadoop.proxyuser.oozie.users": "root", "yarn.timeline-service.enabled": "false",
		"yarn.scheduler.capacity.root.acl_administer_queue": " ", "yarn.scheduler.capacity.root.default.acl_administer_queue": " ",
	})
	text := filepath.Join(m.l.Dir(), "text")
	write(t, text, "a line\n")
	m.run("", "hdfs", "dfs", "-put", text, "/user/root/text")
	m.run("", "hadoop", "distcp", "/user/root/text", "/user/root/copy")
	if got := m.run("", "hdfs", "dfs", "-cat", "/user/root/copy"); !strings.HasPrefix(got, "a line\n") {
		t.Errorf("distcp: %q", got)
	}
	shells := shellsOf(m)
	names := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(commandsByTicket, "\n")) {
		user, said, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case said == "running":
			startSleeping(m, names)
			continue
		case said == "over":
			await.Slowly(t, "the job is over", func() bool {
				out, err := command(t, m.l, "app", "-status", names["{app}"])
				return err == nil && (strings.Contains(out, "State : KILLED") || strings.Contains(out, "State : FINISHED"))
			})
			continue
		case !ok:
			t.Fatalf("%q", line)
		}
		words := strings.Fields(said)
		for i := range words {
			for name, value := range names {
				words[i] = strings.ReplaceAll(words[i], name, value)
			}
		}
		r, err := shells[user].Try(words...)
		if err != nil {
			t.Fatal(err)
		}
		answer := hadooplab.Settled(m.l, r, names)
		answer = underway.ReplaceAllString(answer, "P%")
		if words[1] == "container" && words[2] == "-list" { // YARN's order is that of hashes
			lines := strings.Split(answer, "\n")
			slices.Sort(lines)
			answer = strings.Join(lines, "\n")
		}
		all = append(all, fmt.Sprintf("%s\n%s[%d]\n", strings.TrimSpace(line), answer, r.Code))
	}
	return all
}

// underway is a progress between beginning and end, which is never the same twice.
var underway = regexp.MustCompile(`\b([1-9]|[1-9]\d|\d+\.\d+)%`)

// shellsOf returns a shell of each user, with a cache of tickets of its own.
func shellsOf(m mixed) map[string]*hadooplab.Shell {
	m.t.Helper()
	shells := map[string]*hadooplab.Shell{}
	for _, user := range []string{"bob", "yarn", "oozie", "joe", "nobody", "root"} {
		proxied := ""
		if user == "oozie" || user == "joe" {
			proxied = "root"
		}
		m.t.Setenv("HADOOP_PROXY_USER", proxied)
		if proxied == "" { // Hadoop takes an empty one for a name
			if err := os.Unsetenv("HADOOP_PROXY_USER"); err != nil {
				m.t.Fatal(err)
			}
		}
		cache := filepath.Join(m.r.Dir, "cache-"+user)
		m.t.Setenv("KRB5CCNAME", "FILE:"+m.r.Cache())
		m.r.Kinit(m.r.Keytab(user+".keytab", user+"@"+m.r.Realm), user+"@"+m.r.Realm)
		if user != "nobody" {
			if err := os.Rename(m.r.Cache(), cache); err != nil {
				m.t.Fatal(err)
			}
		}
		m.t.Setenv("KRB5CCNAME", "FILE:"+cache)
		sh, err := m.l.NewShell()
		if err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(sh.Close)
		shells[user] = sh
	}
	return shells
}

// startSleeping starts a job whose map sleeps, and names what it has.
func startSleeping(m mixed, names map[string]string) {
	m.t.Helper()
	job, err := m.l.Begin("", "class", "org.apache.hadoop.mapreduce.SleepJob", "-m", "1", "-r", "0", "-mt", "600000")
	if err != nil {
		m.t.Fatal(err)
	}
	job.EndWith(m.t)
	app := ""
	await.Slowly(m.t, "the job runs", func() bool {
		if job.Ended() {
			m.t.Fatalf("the job has ended:\n%s", job.Stderr())
		}
		out, err := command(m.t, m.l, "app", "-list", "-appStates", "RUNNING")
		app = submitted.FindString(out)
		return err == nil && app != ""
	})
	names["{app}"], names["{job}"] = app, strings.Replace(app, "application", "job", 1)
	names["{attempt}"] = strings.Replace(app, "application", "appattempt", 1) + "_000001"
	names["{am}"] = strings.Replace(app, "application", "container", 1) + "_01_000001"
	names["{container}"] = strings.Replace(app, "application", "container", 1) + "_01_000002"
	await.Slowly(m.t, "the map runs, and its ApplicationMaster knows", func() bool {
		r, err := m.l.Try(m.t.Context(), "", "mapred", "job", "-list-attempt-ids", names["{job}"], "MAP", "running")
		return err == nil && strings.Contains(r.Stdout, "_m_000000_0")
	})
}
