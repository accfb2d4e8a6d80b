package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"heddle/internal/await"
	"heddle/nm/localizer"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// undated removes what differs each time: dates, ids of processes.
func undated(text string) string {
	text = regexp.MustCompile(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]`).ReplaceAllString(text, "[]")
	return regexp.MustCompile(`to pid \d+`).ReplaceAllString(text, "to pid N")
}

// Exit codes, states and texts are those of a stock NodeManager that ran the same commands.
func TestEndsAsHadoopWordsThem(t *testing.T) {
	l := newLab(t)
	const failed = "[]Exception from container-launch.\nContainer id: CID\nExit code: %d\n\n" +
		"[]Container exited with a non-zero exit code %[1]d. %s\n[]Container exited with a non-zero exit code %[1]d. %[2]s\n"
	const killed = "[]Container killed on request. Exit code is %d\n[]Container exited with a non-zero exit code %[1]d. \n[]Killed by external signal\n"
	prelaunch := func(text string) string {
		return "Error file: prelaunch.err.\nLast 4096 bytes of prelaunch.err :\n" + text
	}
	for i, c := range []struct {
		command string
		code    int
		want    string
	}{
		{"exit 0", 0, ""},
		{"echo oops 1>&2; exit 7", 7, fmt.Sprintf(failed, 7, prelaunch("oops\n"))},
		{"echo to-stderr 1>&2; echo more > <LOG_DIR>/stderr; exit 5", 5, fmt.Sprintf(failed, 5, prelaunch("to-stderr\nLast 4096 bytes of stderr :\nmore\n\n"))},
		{
			"echo a > <LOG_DIR>/stderr; touch -d 2001-01-01 <LOG_DIR>/stderr; echo b > <LOG_DIR>/my-STDERR.txt; exit 5", 5,
			fmt.Sprintf(failed, 5, prelaunch("Error files: my-STDERR.txt, stderr.\nLast 4096 bytes of my-STDERR.txt :\nb\n\n")),
		},
		{"if; exit 0", 2, fmt.Sprintf(failed, 2, prelaunch("/bin/bash: -c: line 1: syntax error near unexpected token `;'\n/bin/bash: -c: line 1: `if; exit 0'\n"))},
		{"nosuchcmd", 127, fmt.Sprintf(failed, 127, prelaunch("/bin/bash: line 1: nosuchcmd: command not found\n"))},
		{"exit -1", 255, fmt.Sprintf(failed, 255, prelaunch(""))},
		{"kill -9 $$", 137, fmt.Sprintf(killed, 137)},
		{"kill -9 0", 137, fmt.Sprintf(killed, 137)},
		{"kill $$", 143, fmt.Sprintf(killed, 143)},
		{"exit 143", 143, fmt.Sprintf(killed, 143)},
	} {
		s := waitDone(t, l.run(job{id: containerID(1, int64(i+1)), command: c.command}))
		got := strings.ReplaceAll(undated(s.Diagnostics), s.Grant.ID.String(), "CID")
		if s.ExitCode != c.code || got != c.want {
			t.Errorf("%q: exit code %d, diagnostics\n%q, want %d and\n%q", c.command, s.ExitCode, got, c.code, c.want)
		}
		if s.State.PB() != pb.ContainerState_C_COMPLETE || s.State.SubPB() != pb.ContainerSubState_CSS_DONE {
			t.Errorf("%q: state %v", c.command, s.State)
		}
	}
}

func TestEnvironmentAndFolders(t *testing.T) {
	l := newLab(t)
	c := l.run(job{
		id: containerID(1, 1), command: "env > env; echo out; touch ready; sleep 600; :",
		env: map[string]string{"WORD": `a b "c" $HOME`, "CP": "{{PWD}}<CPS><LOG_DIR>", "USER": "mallory"},
		resources: map[string]*pb.LocalResource{
			"plain": l.file("f1", "one"), "dir/sub/link": l.file("f2", "two"), "again": l.file("f1", "one"),
		},
		service: map[string]string{"mapreduce_shuffle": "secret"},
	})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	s := c.Status()
	waitFile(t, s.WorkDir+"/ready")
	env := waitFile(t, s.WorkDir+"/env")
	app, id := appID(1).String(), c.ID().String()
	local := strings.TrimSuffix(s.WorkDir, "/usercache/ann/appcache/"+app+"/"+id)
	for _, want := range []string{
		"CONTAINER_ID=" + id, "NM_HOST=node1", "NM_PORT=4545", "NM_HTTP_PORT=8042", "USER=ann", "LOGNAME=ann", "HOME=/home/",
		"WORD=a b c /home/", "CP=" + s.WorkDir + ":" + s.LogDirs[0], "PWD=" + s.WorkDir, "LANG=own LANG", "MALLOC_ARENA_MAX=",
		"LOCAL_DIRS=" + l.dir + "/local1/usercache/ann/appcache/" + app + "," + l.dir + "/local2/usercache/ann/appcache/" + app,
		"LOCAL_USER_DIRS=" + l.dir + "/local1/usercache/ann/," + l.dir + "/local2/usercache/ann/",
		"LOG_DIRS=" + strings.Join(s.LogDirs, ","), "HADOOP_TOKEN_FILE_LOCATION=" + s.WorkDir + "/container_tokens",
		"NM_AUX_SERVICE_mapreduce_shuffle=AAA0+g==",
	} {
		if !slices.Contains(strings.Split(env, "\n"), want) {
			t.Errorf("%s is not in the environment:\n%s", want, env)
		}
	}
	if !regexp.MustCompile(`(?m)^LOCALIZATION_COUNTERS=9,0,3,0,\d+$`).MatchString(env) {
		t.Errorf("localization counters in\n%s", env)
	}
	for link, want := range map[string]string{"plain": "one", "dir/sub/link": "two", "again": "one"} {
		if b, err := os.ReadFile(filepath.Join(s.WorkDir, link)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", link, b, err)
		}
	}
	for path, want := range map[string]string{
		s.WorkDir: "drwx--x---", s.WorkDir + "/tmp": "drwx--x---", s.WorkDir + "/launch_container.sh": "-rwx------",
		s.WorkDir + "/container_tokens": "-rw-------", s.LogDirs[0]: "drwx--x---", filepath.Dir(s.LogDirs[0]): "drwx--x---",
		s.LogDirs[0] + "/launch_container.sh": "-rw-r-----", local + "/nmPrivate": "drwx------",
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().String() != want {
			t.Errorf("%s: %v, %v, want %s", path, info.Mode(), err, want)
		}
	}
	if got := waitFile(t, s.LogDirs[0]+"/prelaunch.out"); got != "Setting up env variables\nSetting up job resources\nCopying debugging information\nLaunching container\nout\n" {
		t.Errorf("prelaunch.out: %q", got)
	}
	if !exists(s.LogDirs[0] + "/directory.info") {
		t.Error("no directory.info")
	}
	if want := "mapreduce_shuffle " + app + " ann secret"; !slices.Equal(l.node.aux.data, []string{want}) {
		t.Errorf("aux services got %q", l.node.aux.data)
	}
	if want := []string{"start " + id}; !slices.Equal(l.node.aux.containers, want) {
		t.Errorf("aux services were told of %q", l.node.aux.containers)
	}

	c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	waitDone(t, c)
	await.Until(t, "removal of the work folder", func() bool { return !exists(s.WorkDir) && !exists(local+"/nmPrivate/"+app+"/"+id) })
	if !exists(s.LogDirs[0] + "/prelaunch.out") {
		t.Error("the logs are gone")
	}
	l.node.FinishApplication(appID(1), "by the ResourceManager")
	await.Until(t, "removal of the application", func() bool {
		_, found := l.node.Application(appID(1))
		return !found && !exists(localizer.AppDir(local, "ann", appID(1)))
	})
	if want := []string{"start " + id, "stop " + id}; !slices.Equal(l.node.aux.containers, want) {
		t.Errorf("aux services were told of %q", l.node.aux.containers)
	}
	if !slices.Equal(l.node.aux.stopped, []records.ApplicationID{appID(1)}) || !slices.Equal(l.node.logs.ended, []records.ApplicationID{appID(1)}) {
		t.Errorf("stopped %v, logs ended %v", l.node.aux.stopped, l.node.logs.ended)
	}
	if !l.node.logs.running[c.ID()] {
		t.Error("nobody was told that there are logs")
	}
	if code, ok := l.node.logs.finished[c.ID()]; !ok || code != records.ExitKilledByAppMaster {
		t.Errorf("logs were told %d, %v", code, ok)
	}
}

func TestKillByApplicationMaster(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "trap '' QUIT; setsid --fork sleep 600; touch ready; sleep 600; :"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running })
	waitFile(t, c.Status().WorkDir+"/ready")
	if err := c.Signal(pb.SignalContainerCommand_OUTPUT_THREAD_DUMP); err != nil {
		t.Fatal(err)
	}
	c.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	c.Kill(records.ExitKilledByResourceManager, "Container Killed by ResourceManager\n")
	s := waitDone(t, c)
	want := "[]Sent signal OUTPUT_THREAD_DUMP (SIGQUIT) to pid N as user ann for container " + c.ID().String() + ", result=success\n" +
		"[]Container killed by the ApplicationMaster.\n[]Container killed on request. Exit code is 143\n[]Container exited with a non-zero exit code 143. \n"
	if s.ExitCode != records.ExitKilledByAppMaster || undated(s.Diagnostics) != want {
		t.Errorf("exit code %d, diagnostics\n%q, want\n%q", s.ExitCode, undated(s.Diagnostics), want)
	}
	// an end is final
	c.Kill(1, "too late\n")
	if got := c.Status(); got.ExitCode != s.ExitCode || got.Diagnostics != s.Diagnostics {
		t.Errorf("changed after the end: %+v", got)
	}
	if err := c.Signal(pb.SignalContainerCommand_FORCEFUL_SHUTDOWN); !errors.Is(err, ErrNotRunning) {
		t.Errorf("signal after the end: %v", err)
	}
}

func TestTheOwnEndDuringTheGraceCounts(t *testing.T) {
	l := newLab(t)
	for code, want := range map[int]int{0: 0, 9: 9, 143: records.ExitKilledByAppMaster} {
		c := l.run(job{
			id:      containerID(1, int64(code+1)),
			command: fmt.Sprintf("trap 'exit %d' TERM; touch ready; while :; do sleep 0.01; done", code),
		})
		await.Until(t, "RUNNING", func() bool { return c.State() == Running })
		waitFile(t, c.Status().WorkDir+"/ready")
		c.Kill(records.ExitKilledByAppMaster, "")
		if s := waitDone(t, c); s.ExitCode != want {
			t.Errorf("exit %d: status %d, want %d", code, s.ExitCode, want)
		}
	}
}

func TestLocalizationFailure(t *testing.T) {
	l := newLab(t)
	missing := l.file("f", "x")
	missing.GetResource().SetFile("/nosuch")
	s := waitDone(t, l.run(job{id: containerID(1, 1), command: "exit 3", resources: map[string]*pb.LocalResource{"x": missing}}))
	if s.ExitCode != records.ExitInvalid || !strings.Contains(s.Diagnostics, "File does not exist: file:/nosuch") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	odd := waitDone(t, l.run(job{id: containerID(1, 2), command: "exit 3", resources: map[string]*pb.LocalResource{"x": {}}}))
	if odd.ExitCode != records.ExitInvalid || !strings.Contains(odd.Diagnostics, "without a URL") {
		t.Errorf("exit code %d, %q", odd.ExitCode, odd.Diagnostics)
	}
	abs := waitDone(t, l.run(job{id: containerID(1, 3), command: "exit 3", resources: map[string]*pb.LocalResource{"/abs": l.file("g", "x")}}))
	if abs.ExitCode != launchFailed || !strings.Contains(abs.Diagnostics, "Destination must be relative") {
		t.Errorf("exit code %d, %q", abs.ExitCode, abs.Diagnostics)
	}
}

func TestUnknownAndForgottenContainers(t *testing.T) {
	l := newLab(t)
	j := job{id: containerID(1, 1), command: "exit 0", user: "ann", memory: 100}
	c := l.run(j)
	if err := l.node.Start(j.grant(0), j.context(), nil); !errors.Is(err, ErrExists) {
		t.Errorf("started twice: %v", err)
	}
	waitDone(t, c)
	l.node.Forget(c.ID(), containerID(1, 99))
	_, err := l.node.Container(c.ID())
	if !errors.Is(err, ErrStoppedBefore) || err.Error() != "Container "+c.ID().String()+" was recently stopped on node manager." {
		t.Errorf("a forgotten one: %v", err)
	}
	if err := l.node.Start(j.grant(0), j.context(), nil); !errors.Is(err, ErrExists) {
		t.Errorf("started again after its end: %v", err)
	}
	_, err = l.node.Container(containerID(1, 99))
	if !errors.Is(err, ErrUnknown) || err.Error() != "Container "+containerID(1, 99).String()+" is not handled by this NodeManager" {
		t.Errorf("an unknown one: %v", err)
	}
	running := l.run(job{id: containerID(1, 2), command: "sleep 600; :"})
	l.node.Forget(running.ID())
	if _, err := l.node.Container(running.ID()); err != nil {
		t.Errorf("a live one was forgotten: %v", err)
	}
}

func TestFinishOfAnApplicationKillsItsContainers(t *testing.T) {
	l := newLab(t)
	c := l.run(job{id: containerID(1, 1), command: "sleep 600; :"})
	other := l.run(job{id: containerID(2, 1), command: "sleep 600; :"})
	await.Until(t, "RUNNING", func() bool { return c.State() == Running && other.State() == Running })
	l.node.FinishApplication(appID(1), "Application killed by ResourceManager")
	s := waitDone(t, c)
	if s.ExitCode != records.ExitKilledAfterAppCompletion || !strings.Contains(s.Diagnostics, "Container killed on application-finish event: Application killed by ResourceManager\n") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	await.Until(t, "the end of the application", func() bool { _, found := l.node.Application(appID(1)); return !found })
	if other.State() != Running {
		t.Errorf("the other application's container is %s", other.State())
	}
	if _, err := l.node.Container(c.ID()); !errors.Is(err, ErrStoppedBefore) {
		t.Errorf("its container: %v", err)
	}
}

func TestContainersWaitForRoom(t *testing.T) {
	l := newLab(t)
	big := l.run(job{id: containerID(1, 1), command: "sleep 600; :", memory: 8000})
	await.Until(t, "RUNNING", func() bool { return big.State() == Running })
	next := l.run(job{id: containerID(1, 2), command: "exit 0", memory: 200})
	await.Until(t, "SCHEDULED", func() bool { return next.State() == Scheduled })
	killed := l.run(job{id: containerID(1, 3), command: "exit 0", memory: 200})
	await.Until(t, "SCHEDULED", func() bool { return killed.State() == Scheduled })
	killed.Kill(records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.\n")
	s := waitDone(t, killed)
	if s.ExitCode != records.ExitKilledByAppMaster || !strings.Contains(s.Diagnostics, "Container is killed before being launched.\n") {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
	big.Kill(records.ExitKilledByAppMaster, "")
	if s := waitDone(t, next); s.ExitCode != 0 {
		t.Errorf("exit code %d, %q", s.ExitCode, s.Diagnostics)
	}
}

func TestDiagnosticsAreBounded(t *testing.T) {
	l := newLab(t, func(o *Options) { o.Config.MaxDiagnostics = 500 })
	s := waitDone(t, l.run(job{id: containerID(1, 1), command: "for i in {1..1000}; do echo line \\$i; done 1>&2; exit 3"}))
	if len(s.Diagnostics) > 500 || !strings.Contains(s.Diagnostics, "line 1000") {
		t.Errorf("%d bytes: %q", len(s.Diagnostics), s.Diagnostics)
	}
}

func TestDiagnosticsAreTextWhateverAProgramWrites(t *testing.T) {
	l := newLab(t)
	s := waitDone(t, l.run(job{id: containerID(1, 1), command: `printf 'f\\374r nichts' 1>&2; exit 3`}))
	if !utf8.ValidString(s.Diagnostics) || !strings.Contains(s.Diagnostics, "f\uFFFDr nichts") {
		t.Errorf("%q", s.Diagnostics)
	}
}
