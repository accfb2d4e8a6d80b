package modes

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/publicdir"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

var update = flag.Bool("update", false, "record what a stock NodeManager leaves (with HEDDLE_TEST_STOCK=1)")

const (
	// submitter is a user that every Debian has. Its containers run as this user with LinuxContainerExecutor.
	submitter = "games"
	// nodeGroup is the group that users' folders get (yarn.nodemanager.linux-container-executor.group). The submitter
	// isn't in it.
	nodeGroup = "adm"

	lce = "yarn.nodemanager.linux-container-executor."
)

// stockProgram is YARN's container-executor, which LinuxContainerExecutor of a stock node starts. Maven has none: build it from
// the sources in hadoop-yarn-server-nodemanager/src/main/native/container-executor. It must belong to root and nodeGroup
// with mode 6050, below folders that only root can write to. Its ../etc/hadoop/container-executor.cfg must name that group
// and allow the submitter (min.user.id=1).
const stockProgram = "HEDDLE_TEST_CONTAINER_EXECUTOR"

// executors are the settings of each recording.
var executors = map[string]map[string]string{
	"linux": {
		"yarn.nodemanager.container-executor.class": "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
		lce + "nonsecure-mode.limit-users":          "false",
		lce + "group":                               nodeGroup,
		lce + "path":                                os.Getenv(stockProgram),
		"heddle.container.allowed-system-users":     submitter,
	},
	"default": {
		"heddle.container.run-as-root": "true", // as a stock NodeManager of root's does
	},
}

func TestFilesOfContainersAreAsYARNLeavesThem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run containers as other users")
	}
	binary := program(t)
	for name, set := range executors {
		t.Run(name, func(t *testing.T) {
			if binary == "" && name == "linux" && os.Getenv(stockProgram) == "" {
				t.Fatalf("a stock node needs YARN's container-executor: set %s", stockProgram)
			}
			home := run(t, binary, set)
			if name == "linux" {
				strangers(t, home)
			}
			got := append(list(t, home), "umask "+strings.Join(lines(t, one(t, home, "local/usercache/*/appcache/*/container_*/umask")), " "))
			path := filepath.Join("testdata", name+".txt")
			if *update && binary == "" {
				if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := lines(t, path)
			if binary != "" {
				got, want = without(t, name, got, want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-YARN +here\n%s", diff)
			}
		})
	}
}

// program is what the tests run, in a folder of the test; "" is Hadoop.
func program(t *testing.T) string {
	t.Helper()
	if !hadooplab.OnHeddle() {
		return ""
	}
	built, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	path := filepath.Join(publicdir.New(t, ""), "heddle")
	if err := os.Rename(built, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func lines(t *testing.T, path string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out
}

// without takes the known differences out of both lists. Each must be there: "- LINE" only in YARN's list, "+ LINE" only
// in ours.
func without(t *testing.T, executor string, got, want []string) (g, w []string) {
	t.Helper()
	for _, line := range lines(t, filepath.Join("testdata", "differences.txt")) {
		entry, ok := strings.CutPrefix(line, executor+" ")
		if !ok {
			continue // of the other executor, or a reason
		}
		list := map[byte]*[]string{'-': &want, '+': &got}[entry[0]]
		at := slices.Index(*list, entry[2:])
		if at < 0 {
			t.Errorf("testdata/differences.txt lists what isn't there: %s", line)
			continue
		}
		*list = slices.Delete(*list, at, at+1)
	}
	return got, want
}

// script is an ApplicationMaster that makes files and folders, and then waits.
const script = "umask > umask; touch made; mkdir folder; touch folder/inside; touch <LOG_DIR>/syslog; touch ready; " +
	"exec sleep 600 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"

// run runs an ApplicationMaster with resources of all kinds, and returns the node's folder while that runs.
func run(t *testing.T, binary string, set map[string]string) (home string) {
	t.Helper()
	dir := publicdir.New(t, "")
	l := start(t, binary, dir, set)
	submit(t, l, submitter, resources(t, dir))
	home = filepath.Join(l.Dir(), "nodemanager1")
	await.Slowly(t, "the container's files", func() bool {
		found, err := filepath.Glob(filepath.Join(home, "local/usercache/*/appcache/*/container_*/ready"))
		logs, _ := filepath.Glob(filepath.Join(home, "log/*/container_*/stderr"))
		return err == nil && len(found) == 1 && len(logs) == 1
	})
	return home
}

// start starts a ResourceManager and a node.
func start(t *testing.T, binary, dir string, set map[string]string) *hadooplab.Lab {
	t.Helper()
	site := maps.Clone(set)
	site["yarn.nodemanager.delete.debug-delay-sec"] = "0"
	return hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: binary, Dir: dir, Site: site})
}

// submit submits an application of a user's.
func submit(t *testing.T, l *hadooplab.Lab, user string, local []*pb.StringLocalResourceMap) records.ApplicationID {
	t.Helper()
	client := ipc.NewClient(ipc.ClientConfig{CallTimeout: time.Minute})
	defer client.Close()
	to := client.Failover([]string{fmt.Sprintf("localhost:%d", l.Port("rm"))}, protocol.ApplicationClient, ipc.Identity{User: user}, ipc.RetryPolicy{MaxElapsed: time.Minute})
	app, err := protocol.GetNewApplication.Call(t.Context(), to, &pb.GetNewApplicationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(submission(app.GetApplicationId(), local))
	if _, err := protocol.SubmitApplication.Call(t.Context(), to, req); err != nil {
		t.Fatal(err)
	}
	return records.ApplicationIDFrom(app.GetApplicationId())
}

func submission(id *pb.ApplicationId, local []*pb.StringLocalResourceMap) *pb.ApplicationSubmissionContext {
	ctx, spec, size := &pb.ApplicationSubmissionContext{}, &pb.ContainerLaunchContext{}, &pb.Resource{}
	ctx.SetApplicationId(id)
	ctx.SetApplicationName("modes")
	ctx.SetQueue("default")
	ctx.SetMaxAppAttempts(1)
	spec.SetCommand([]string{script})
	spec.SetLocalResources(local)
	ctx.SetAmContainerSpec(spec)
	size.SetMemory(256)
	size.SetVirtualCores(1)
	ctx.SetResource(size)
	return ctx
}
