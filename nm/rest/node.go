package rest

import (
	"strings"
	"time"

	"heddle/conf"
	"heddle/nm/application"
	"heddle/nm/gpu"
	"heddle/yarn/records"
	"heddle/yarn/rest"
)

type nodeInfo struct {
	HealthReport       string `yarn:"healthReport"`
	VirtualMB          int64  `yarn:"totalVmemAllocatedContainersMB"`
	PhysicalMB         int64  `yarn:"totalPmemAllocatedContainersMB"`
	VCores             int64  `yarn:"totalVCoresAllocatedContainers"`
	VirtualCheck       bool   `yarn:"vmemCheckEnabled"`
	PhysicalCheck      bool   `yarn:"pmemCheckEnabled"`
	Updated            int64  `yarn:"lastNodeUpdateTime"`
	Types              string `yarn:"resourceTypes"`
	Healthy            bool   `yarn:"nodeHealthy"`
	Version            string `yarn:"nodeManagerVersion"`
	BuildVersion       string `yarn:"nodeManagerBuildVersion"`
	BuiltOn            string `yarn:"nodeManagerVersionBuiltOn"`
	HadoopVersion      string `yarn:"hadoopVersion"`
	HadoopBuildVersion string `yarn:"hadoopBuildVersion"`
	HadoopBuiltOn      string `yarn:"hadoopVersionBuiltOn"`
	ID                 string `yarn:"id"`
	Host               string `yarn:"nodeHostName"`
	Started            int64  `yarn:"nmStartupTime"`
}

func (s *Server) nodeInfo() nodeInfo {
	health, total := s.Health(), s.Containers.Resource()
	build := "heddle " + conf.Version
	return nodeInfo{
		HealthReport: health.Report, Healthy: health.Healthy, Updated: health.At.UnixMilli(),
		VirtualMB: int64(float64(total.MemoryMB()) * s.VirtualRatio), PhysicalMB: total.MemoryMB(), VCores: total.VCores(),
		VirtualCheck: s.VirtualCheck, PhysicalCheck: s.PhysicalCheck, Types: typeNames(s.Types),
		Version: conf.HadoopVersion, BuildVersion: build, BuiltOn: conf.Built,
		HadoopVersion: conf.HadoopVersion, HadoopBuildVersion: build, HadoopBuiltOn: conf.Built,
		ID: s.Node.String(), Host: s.Node.Host, Started: s.Started.UnixMilli(),
	}
}

// typeNames lists resource types as YARN does: "memory-mb (unit=Mi), vcores".
func typeNames(types records.ResourceTypes) string {
	var names []string
	for i := range types.Len() {
		t := types.At(i)
		if t.Units != "" {
			names = append(names, t.Name+" (unit="+t.Units+")")
		} else {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (s *Server) info(*rest.Call) (rest.Reply, error) {
	return rest.OK("nodeInfo", rest.Natural, s.nodeInfo()), nil
}

type appInfo struct {
	ID         string   `yarn:"id"`
	State      string   `yarn:"state"`
	User       string   `yarn:"user"`
	Containers []string `yarn:"containerids"`
}

type appList struct {
	Apps []appInfo `yarn:"app"`
}

func appInfoOf(app application.Info) appInfo {
	i := appInfo{ID: app.ID.String(), State: app.State.String(), User: app.User}
	for _, id := range app.Containers {
		i.Containers = append(i.Containers, id.String())
	}
	return i
}

func (s *Server) apps(c *rest.Call) (rest.Reply, error) {
	q := c.Query()
	state, user := q.Get("state"), q.Get("user")
	var out appList
	for _, app := range s.Containers.Applications() {
		if state != "" {
			// As in Hadoop the value is checked only if there is an application to compare it with.
			want, ok := application.ParseState(state)
			if !ok {
				return rest.Reply{}, rest.Illegal("No enum constant org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState.%s", state)
			}
			if app.State != want {
				continue
			}
		}
		if q.Has("user") {
			if user == "" {
				return rest.Reply{}, rest.BadRequest("Error: You must specify a non-empty string for the user")
			}
			if app.User != user {
				continue
			}
		}
		out.Apps = append(out.Apps, appInfoOf(app))
	}
	return rest.OK("apps", rest.Natural, out), nil
}

// parseApp parses an application's id. Its errors have Hadoop's words.
func parseApp(text string) (records.ApplicationID, error) {
	if !strings.HasPrefix(text, "application") {
		return records.ApplicationID{}, rest.BadRequestBy(rest.IllegalArgument,
			"Invalid ApplicationId prefix: %s. The valid ApplicationId should start with prefix application", text)
	}
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return id, rest.BadRequestBy(rest.IllegalArgument, "Invalid ApplicationId: %s", text)
	}
	return id, nil
}

func (s *Server) findApp(c *rest.Call) (application.Info, error) {
	id, err := parseApp(c.Var("app"))
	if err != nil {
		return application.Info{}, err
	}
	app, ok := s.Containers.Application(id)
	if !ok {
		return app, rest.NotFound("app with id %s not found", c.Var("app"))
	}
	return app, nil
}

func (s *Server) app(c *rest.Call) (rest.Reply, error) {
	app, err := s.findApp(c)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK("app", rest.Natural, appInfoOf(app)), nil
}

// resource answers for plug-ins of resource types, which Heddle doesn't support.
func (s *Server) resource(c *rest.Call) (rest.Reply, error) {
	if c.Var("name") != gpu.Type || s.GPUs == nil {
		return rest.OK("nmResourceInfo", rest.Unwrapped, struct{}{}), nil
	}
	info := gpuInfo{Total: []gpuDevice{}, Assigned: []assignedGPU{}}
	owners := s.GPUs.Assigned()
	for _, d := range s.GPUs.Devices() {
		info.Total = append(info.Total, gpuDevice{d.Index, d.Minor})
		if id, ok := owners[d]; ok {
			info.Assigned = append(info.Assigned, assignedGPU{gpuDevice{d.Index, d.Minor}, id.String()})
		}
	}
	return rest.OK("nmResourceInfo", rest.Unwrapped, info), nil
}

// gpuInfo lists the node's GPUs and their containers (Hadoop: NMGpuResourceInfo, without nvidia-smi's figures).
type gpuInfo struct {
	Total    []gpuDevice   `yarn:"totalGpuDevices"`
	Assigned []assignedGPU `yarn:"assignedGpuDevices"`
}

type gpuDevice struct {
	Index int `yarn:"index"`
	Minor int `yarn:"minorNumber"`
}

type assignedGPU struct {
	gpuDevice
	Container string `yarn:"containerId"`
}

// sysfs refuses the data that YARN's services framework gives to Docker containers about their application.
func (s *Server) sysfs(c *rest.Call) (rest.Reply, error) {
	if _, err := s.findApp(c); err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{}, rest.BadRequestBy(rest.UnsupportedOperation,
		"containers of this node have no sysfs of their application's")
}

// stamp formats a time for pages.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "N/A"
	}
	return t.Format(time.UnixDate)
}
