package submission

import (
	"encoding/base64"
	"net/url"
	"strconv"

	"heddle/yarn/pb"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/token"
)

type launchContext struct {
	Resources   givenMap[localResource] `yarn:"local-resources"`
	Environment givenMap[string]        `yarn:"environment"`
	Commands    givenCommands           `yarn:"commands"`
	ServiceData givenMap[string]        `yarn:"service-data"`
	Credentials givenCredentials        `yarn:"credentials"`
	ACLs        givenMap[string]        `yarn:"application-acls"`
}

// givenMap is a map in the form of YARN's bodies: entries of key and value.
type givenMap[V any] struct {
	Entry []givenEntry[V] `yarn:"entry"`
}

type givenEntry[V any] struct {
	Key   string `yarn:"key"`
	Value V      `yarn:"value"`
}

type givenCommands struct {
	Command []string `yarn:"command"`
}

type givenTags struct {
	Tag []string `yarn:"tag"`
}

type localResource struct {
	Resource   string `yarn:"resource"`
	Type       string `yarn:"type"`
	Visibility string `yarn:"visibility"`
	Size       int64  `yarn:"size"`
	Timestamp  int64  `yarn:"timestamp"`
	Pattern    string `yarn:"pattern"`
}

type givenCredentials struct {
	Tokens  givenMap[string] `yarn:"tokens"`
	Secrets givenMap[string] `yarn:"secrets"`
}

func containerSpec(g *launchContext) (*pb.ContainerLaunchContext, error) {
	spec := &pb.ContainerLaunchContext{}
	spec.SetCommand(g.Commands.Command)
	var env []*pb.StringStringMap
	for _, e := range g.Environment.Entry {
		kv := &pb.StringStringMap{}
		kv.SetKey(e.Key)
		kv.SetValue(e.Value)
		env = append(env, kv)
	}
	spec.SetEnvironment(env)
	var data []*pb.StringBytesMap
	for _, e := range g.ServiceData.Entry {
		b, err := decodeBase64(e.Value)
		if err != nil {
			return nil, yarnrest.BadRequest("The service data of %s is no Base64: %v", e.Key, err)
		}
		kv := &pb.StringBytesMap{}
		kv.SetKey(e.Key)
		kv.SetValue(b)
		data = append(data, kv)
	}
	spec.SetServiceData(data)
	var acls []*pb.ApplicationACLMap
	for _, e := range g.ACLs.Entry {
		kind, ok := pb.ApplicationAccessType_value["APPACCESS_"+e.Key]
		if !ok {
			continue // Hadoop ignores it too
		}
		m := &pb.ApplicationACLMap{}
		m.SetAccessType(pb.ApplicationAccessType(kind))
		m.SetAcl(e.Value)
		acls = append(acls, m)
	}
	spec.SetApplication_ACLs(acls)
	resources, err := localResources(g.Resources.Entry)
	if err != nil {
		return nil, err
	}
	spec.SetLocalResources(resources)
	tokens, err := credentials(&g.Credentials)
	if err != nil {
		return nil, err
	}
	spec.SetTokens(tokens)
	return spec, nil
}

func localResources(given []givenEntry[localResource]) (out []*pb.StringLocalResourceMap, err error) {
	for _, e := range given {
		at, err := resourceURL(e.Value.Resource)
		if err != nil {
			return nil, yarnrest.BadRequest("The local resource %s has no usable resource %q, which must be a URL such as "+
				"hdfs://host:8020/file: %v", e.Key, e.Value.Resource, err)
		}
		kind, known := pb.LocalResourceType_value[e.Value.Type]
		if !known {
			return nil, yarnrest.BadRequest("Null resource type for local resource %s : the type %q must be one of ARCHIVE, FILE, PATTERN",
				e.Key, e.Value.Type)
		}
		visibility, known := pb.LocalResourceVisibility_value[e.Value.Visibility]
		if !known {
			return nil, yarnrest.BadRequest("Null resource visibility for local resource %s : the visibility %q must be one of "+
				"PUBLIC, PRIVATE, APPLICATION", e.Key, e.Value.Visibility)
		}
		r := &pb.LocalResource{}
		r.SetResource(at)
		r.SetSize(e.Value.Size)
		r.SetTimestamp(e.Value.Timestamp)
		r.SetType(pb.LocalResourceType(kind))
		r.SetVisibility(pb.LocalResourceVisibility(visibility))
		if e.Value.Pattern != "" {
			r.SetPattern(e.Value.Pattern)
		}
		m := &pb.StringLocalResourceMap{}
		m.SetKey(e.Key)
		m.SetValue(r)
		out = append(out, m)
	}
	return out, nil
}

// resourceURL splits a URL as YARN's messages do. A fragment belongs to the file.
func resourceURL(text string) (*pb.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Path == "" {
		return nil, strconv.ErrSyntax
	}
	out := &pb.URL{}
	if u.Scheme != "" {
		out.SetScheme(u.Scheme)
	}
	if u.Hostname() != "" {
		out.SetHost(u.Hostname())
	}
	out.SetPort(-1)
	if p := u.Port(); p != "" {
		port, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return nil, err
		}
		out.SetPort(int32(port))
	}
	out.SetFile(u.Path)
	if u.User != nil {
		out.SetUserInfo(u.User.String())
	}
	return out, nil
}

// credentials returns the bytes of ContainerLaunchContext.tokens; nil without credentials.
func credentials(g *givenCredentials) ([]byte, error) {
	if len(g.Tokens.Entry)+len(g.Secrets.Entry) == 0 {
		return nil, nil
	}
	var c token.Credentials
	for _, e := range g.Tokens.Entry {
		t, err := token.ParseURLString(e.Value)
		if err != nil {
			return nil, yarnrest.BadRequest("Could not parse credentials data; exception message = token %s: %v", e.Key, err)
		}
		c.SetToken(e.Key, t)
	}
	for _, e := range g.Secrets.Entry {
		b, err := decodeBase64(e.Value)
		if err != nil {
			return nil, yarnrest.BadRequest("Could not parse credentials data; exception message = secret %s: %v", e.Key, err)
		}
		c.SetSecret(e.Key, b)
	}
	b, err := c.Encode(token.FormatWritable)
	if err != nil {
		return nil, yarnrest.BadRequest("Could not parse credentials data; exception message = %v", err)
	}
	return b, nil
}

// decodeBase64 accepts both alphabets, with or without padding.
func decodeBase64(s string) ([]byte, error) {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; c {
		case '-':
			b = append(b, '+')
		case '_':
			b = append(b, '/')
		case '=', '\r', '\n', ' ', '\t':
		default:
			b = append(b, c)
		}
	}
	return base64.RawStdEncoding.DecodeString(string(b))
}
