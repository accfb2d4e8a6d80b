package secure

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/sasl"
)

// submitter submits applications of alice's, as no client of Hadoop's does: without a token for HDFS.
type submitter struct {
	t  *testing.T
	l  *hadooplab.Lab
	rm ipc.Invoker
}

func newSubmitter(t *testing.T, l *hadooplab.Lab) *submitter {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: l.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	who, err := caller.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	client := ipc.NewClient(ipc.ClientConfig{Protection: sasl.Qualities{sasl.Privacy}})
	t.Cleanup(client.Close)
	return &submitter{t, l, client.Endpoint(fmt.Sprintf("localhost:%d", l.Port("rm")), protocol.ApplicationClient, who.Identity)}
}

// resource is a file in HDFS that alice alone may read.
func (s *submitter) resource(name string) *pb.LocalResource {
	s.t.Helper()
	c, err := conf.Load(conf.Options{Dir: s.l.Conf()})
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	info, err := a.As("").Stat(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	u := &pb.URL{}
	u.SetScheme("hdfs")
	u.SetHost("localhost")
	u.SetPort(int32(s.l.Port("namenode")))
	u.SetFile(name)
	r := &pb.LocalResource{}
	r.SetResource(u)
	r.SetSize(info.Size)
	r.SetTimestamp(info.ModTime)
	r.SetType(pb.LocalResourceType_FILE)
	r.SetVisibility(pb.LocalResourceVisibility_APPLICATION)
	return r
}

// submit submits an ApplicationMaster that is a command, with a file that it calls x.
func (s *submitter) submit(command string, x *pb.LocalResource, credentials []byte) records.ApplicationID {
	s.t.Helper()
	made, err := protocol.GetNewApplication.Call(s.t.Context(), s.rm, &pb.GetNewApplicationRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	file := &pb.StringLocalResourceMap{}
	file.SetKey("x")
	file.SetValue(x)
	lc := &pb.ContainerLaunchContext{}
	lc.SetCommand([]string{command})
	lc.SetLocalResources([]*pb.StringLocalResourceMap{file})
	if credentials != nil {
		lc.SetTokens(credentials)
	}
	size := &pb.Resource{}
	size.SetMemory(256)
	size.SetVirtualCores(1)
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(made.GetApplicationId())
	ctx.SetAmContainerSpec(lc)
	ctx.SetResource(size)
	ctx.SetMaxAppAttempts(1)
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	if _, err := protocol.SubmitApplication.Call(s.t.Context(), s.rm, req); err != nil {
		s.t.Fatal(err)
	}
	return records.ApplicationIDFrom(made.GetApplicationId())
}

// ended returns the report of an application that has ended.
func (s *submitter) ended(id records.ApplicationID) *pb.ApplicationReport {
	s.t.Helper()
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	return await.Value(s.t, id.String()+" has ended", func() (*pb.ApplicationReport, bool) {
		resp, err := protocol.GetApplicationReport.Call(s.t.Context(), s.rm, req)
		if err != nil {
			s.t.Fatal(err)
		}
		r := resp.GetApplicationReport()
		return r, r.GetYarnApplicationState() == pb.YarnApplicationState_FAILED || r.GetYarnApplicationState() == pb.YarnApplicationState_FINISHED
	})
}

// An application without a token for HDFS has its files localized and its logs aggregated, although it outlives a token: the ResourceManager gets tokens as its user's proxy, and
// nodes take them. So with one daemon of Hadoop's. (Its nodes can't aggregate logs of another account than theirs without LinuxContainerExecutor.)
func TestApplicationsOutliveTokens(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	for name, stock := range map[string]string{"Heddle": "", "a ResourceManager of Hadoop": "rm", "a NodeManager of Hadoop": "nm"} {
		t.Run(name, func(t *testing.T) {
			r := newRealm(t, 10*time.Hour)
			site, keys := securedHDFS(r)
			maps.Copy(site, map[string]string{
				"yarn.resourcemanager.proxy-user-privileges.enabled":                  "true",
				"yarn.resourcemanager.system-credentials.valid-time-remaining":        "10000",
				"dfs.namenode.delegation.token.renew-interval":                        "15000",
				"dfs.namenode.delegation.token.max-lifetime":                          "30000",
				"hadoop.proxyuser.yarn.hosts":                                         "*",
				"hadoop.proxyuser.yarn.users":                                         "alice",
				"yarn.resourcemanager.delegation-token-renewer.thread-retry-interval": "1000",
				"yarn.resourcemanager.connect.max-wait.ms":                            "150000",
				"yarn.nodemanager.env-whitelist":                                      "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
			})
			l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Stock: stock, Site: site, Krb5: r.Conf})
			run := makeFolders(t, r, l, keys)
			file := filepath.Join(t.TempDir(), "x")
			write(t, file, "what only alice may read\n")
			run("hdfs", "dfs", "-put", file, "/user/alice/x")
			run("hdfs", "dfs", "-chmod", "600", "/user/alice/x")
			s := newSubmitter(t, l)
			x := s.resource("/user/alice/x")
			quick := s.submit("grep -q alice x && exit 42", x, nil)
			if got := s.ended(quick).GetDiagnostics(); !strings.Contains(got, "exitCode: 42") {
				t.Fatalf("it ends with %q", got)
			}
			if stock == "nm" {
				return
			}
			long := s.submit("cat x >$(dirname <LOG_DIR>/x)/stdout; sleep 50; exit 42", x, nil)
			if got := s.ended(long).GetDiagnostics(); !strings.Contains(got, "exitCode: 42") {
				t.Fatalf("it ends with %q", got)
			}
			await.Slowly(t, "its logs are in HDFS", func() bool {
				out, err := command(t, l, "logs", "-applicationId", long.String())
				return err == nil && strings.Contains(out, "what only alice may read")
			})
			if got := run("hdfs", "dfs", "-ls", "/app-logs/alice/*/*/"+long.String()); !strings.Contains(got, " alice ") {
				t.Errorf("the logs are\n%s", got)
			}
			if audit := l.Daemon("namenode").Log(); !strings.Contains(audit, "ugi=alice (auth:TOKEN) via rm/localhost@"+r.Realm) {
				t.Error("nobody has used a token that the ResourceManager got")
			}
		})
	}
}
