package hadoop

import (
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

func TestLogs(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	l.Put(t, "/logs/in", "one line\n")
	mapper := script(t, "loud.sh", "#!/bin/sh\necho 'the mapper was here' >&2\ncat\n")
	j := succeed(t, l, streaming(t, l), "-Dmapreduce.job.reduces=0", "-files", mapper, "-input", "/logs/in", "-output", "/logs/out", "-mapper", "loud.sh")
	first := master(t, l, j.app, 1)
	var got string
	await.Slowly(t, "the logs are aggregated", func() bool {
		r, err := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", j.app)
		if err != nil {
			t.Fatal(err)
		}
		got = r.Stdout
		return r.Code == 0 && strings.Contains(got, "the mapper was here")
	})
	for _, want := range []string{
		"Container: " + first + " on localhost_", "LogAggregationType: AGGREGATED\n", "LogType:stderr\n", "LogType:syslog\n",
		"End of LogType:stderr\n", "LogType:launch_container.sh\n", "LogType:directory.info\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the logs\n%.3000s", want, got)
		}
	}
	files, err := l.Run(t.Context(), "yarn", "logs", "-applicationId", j.app, "-containerId", first, "-show_container_log_info")
	if err != nil || !strings.Contains(files, "syslog") {
		t.Errorf("%s, %v", files, err)
	}
}

func TestLogsOfARunningJob(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	c, app := begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "600000")
	await.Slowly(t, "the map runs", func() bool { return len(of(processes(t, l), app)) == 2 })
	r, err := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", app, "-containerId", master(t, l, app, 1), "-log_files", "syslog")
	if err != nil || r.Code != 0 || !strings.Contains(r.Stdout, "LogAggregationType: LOCAL\n") || !strings.Contains(r.Stdout, "MRAppMaster") ||
		!strings.Contains(r.Stdout, "This log file belongs to a running container") {
		t.Errorf("%d, %v\n%.2000s\n%s", r.Code, err, r.Stdout, r.Stderr)
	}
	if _, err := l.Run(t.Context(), "mapred", "job", "-kill", strings.Replace(app, "application", "job", 1)); err != nil {
		t.Error(err)
	}
	b := end(t, c, app)
	if b.Code == 0 || !strings.Contains(b.Stderr, "failed with state KILLED") {
		t.Errorf("exit code %d\n%s", b.Code, b.Stderr)
	}
}
