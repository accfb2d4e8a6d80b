package client

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"heddle/yarn/pb"
	"heddle/yarn/token"
)

// Launch describes a container to start.
type Launch struct {
	// Command is run by a shell, its parts joined by blanks. <LOG_DIR> stands for the container's log folder, and
	// {{NAME}} for a variable of its environment.
	Command []string
	// A shell expands the values of Env: dollar signs and quotation marks have their shell meaning. Quote takes it from them.
	Env map[string]string
	// Resources appear in the container's work folder under their keys.
	Resources map[string]Resource
	// ServiceData is passed to the node's auxiliary services, by their names.
	ServiceData map[string][]byte
	Credentials *token.Credentials
	// ACLs say who may see and change the application. Only those of an ApplicationMaster have an effect.
	ACLs map[pb.ApplicationAccessType]string
}

// Quote makes a text a value of Launch.Env that a shell leaves as it is, or a Launch.Command in which only the container's own shell
// expands something: NodeManagers put both between double quotes in a script.
func Quote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
}

// Resource is a file that a node downloads for a container.
type Resource struct {
	URL        string // scheme://authority/path
	Size       int64  // bytes
	ModTime    int64  // ms since 1970; a node refuses the file if it has changed since
	Type       ResourceType
	Visibility Visibility
	Pattern    string // of a Pattern resource: matches the archive's entries to unpack
}

// ResourceType says how a node treats a Resource.
type ResourceType = pb.LocalResourceType

// Visibility says who shares a node's copy of a Resource.
type Visibility = pb.LocalResourceVisibility

// Types and visibilities of resources.
const (
	File    = pb.LocalResourceType_FILE
	Archive = pb.LocalResourceType_ARCHIVE // unpacked
	Pattern = pb.LocalResourceType_PATTERN // matching entries are unpacked; the archive is kept as well

	Public      = pb.LocalResourceVisibility_PUBLIC      // all users, who must be able to read the file
	Private     = pb.LocalResourceVisibility_PRIVATE     // all applications of the user
	Application = pb.LocalResourceVisibility_APPLICATION // the application's containers
)

// PB returns the wire form. It fails if the URL of a resource has no scheme or no path.
func (l Launch) PB() (*pb.ContainerLaunchContext, error) {
	m := &pb.ContainerLaunchContext{}
	m.SetCommand(l.Command)
	var env []*pb.StringStringMap
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		e := &pb.StringStringMap{}
		e.SetKey(name)
		e.SetValue(l.Env[name])
		env = append(env, e)
	}
	m.SetEnvironment(env)
	var resources []*pb.StringLocalResourceMap
	for _, name := range slices.Sorted(maps.Keys(l.Resources)) {
		r, err := l.Resources[name].PB()
		if err != nil {
			return nil, fmt.Errorf("resource %q: %w", name, err)
		}
		e := &pb.StringLocalResourceMap{}
		e.SetKey(name)
		e.SetValue(r)
		resources = append(resources, e)
	}
	m.SetLocalResources(resources)
	var data []*pb.StringBytesMap
	for _, name := range slices.Sorted(maps.Keys(l.ServiceData)) {
		e := &pb.StringBytesMap{}
		e.SetKey(name)
		e.SetValue(l.ServiceData[name])
		data = append(data, e)
	}
	m.SetServiceData(data)
	if l.Credentials != nil {
		raw, err := l.Credentials.Encode(token.FormatWritable)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		m.SetTokens(raw)
	}
	var acls []*pb.ApplicationACLMap
	for _, kind := range slices.Sorted(maps.Keys(l.ACLs)) {
		a := &pb.ApplicationACLMap{}
		a.SetAccessType(kind)
		a.SetAcl(l.ACLs[kind])
		acls = append(acls, a)
	}
	m.SetApplication_ACLs(acls)
	return m, nil
}

// PB returns the wire form. It fails if the URL has no scheme or no path.
func (r Resource) PB() (*pb.LocalResource, error) {
	u, err := parseURL(r.URL)
	if err != nil {
		return nil, err
	}
	m := &pb.LocalResource{}
	m.SetResource(u)
	m.SetSize(r.Size)
	m.SetTimestamp(r.ModTime)
	m.SetType(r.Type)
	m.SetVisibility(r.Visibility)
	if r.Pattern != "" {
		m.SetPattern(r.Pattern)
	}
	return m, nil
}

// parseURL splits a file's name as hdfsadapter writes it. Its path isn't escaped.
func parseURL(s string) (*pb.URL, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" {
		return nil, fmt.Errorf("%q has no scheme", s)
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return nil, fmt.Errorf("%q has no path", s)
	}
	authority, err := url.Parse("//" + rest[:slash])
	if err != nil {
		return nil, err
	}
	u := &pb.URL{}
	u.SetScheme(scheme)
	u.SetFile(rest[slash:])
	u.SetPort(-1)
	if host := authority.Host; host != "" {
		u.SetHost(authority.Hostname())
		if _, port, err := net.SplitHostPort(host); err == nil {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", s, err)
			}
			u.SetPort(int32(n))
		}
	}
	if authority.User != nil {
		u.SetUserInfo(authority.User.String())
	}
	return u, nil
}
