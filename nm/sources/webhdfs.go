package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/nm/localizer"
)

// WebHDFS reads HDFS by its REST API as the user who asks.
type WebHDFS struct {
	Client *http.Client
	Conf   *conf.Config
	Self   string // the user of this process, for public files
	TLS    bool   // swebhdfs
}

// maxListing bounds an answer about files, bytes.
const maxListing = 64 << 20

// Default ports of NameNodes' web pages.
const (
	webPort = "9870"
	tlsPort = "9871"
)

// servers returns host:port of the NameNodes of a location, whose host may be a nameservice.
func (w WebHDFS) servers(at localizer.Location) []string {
	port, key := webPort, "dfs.namenode.http-address"
	if w.TLS {
		port, key = tlsPort, "dfs.namenode.https-address"
	}
	if at.Port > 0 {
		return []string{hostOf(at)}
	}
	var all []string
	ids, _ := w.Conf.Get("dfs.ha.namenodes." + at.Host)
	for _, id := range conf.ParseList(ids) {
		if address, ok := w.Conf.Get(key + "." + at.Host + "." + id); ok {
			all = append(all, address)
		}
	}
	if len(all) == 0 {
		all = []string{at.Host + ":" + port}
	}
	return all
}

// ask makes a request to the first NameNode that is active. It follows the way to a DataNode.
func (w WebHDFS) ask(ctx context.Context, by localizer.Reader, at localizer.Location, op string) (*http.Response, error) {
	scheme, who := "http", by.User
	if w.TLS {
		scheme = "https"
	}
	if by.Public || who == "" {
		who = w.Self
	}
	var all []error
	for _, server := range w.servers(at) {
		u := url.URL{
			Scheme: scheme, Host: server, Path: "/webhdfs/v1" + at.Path,
			RawQuery: url.Values{"op": {op}, "user.name": {who}}.Encode(),
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		resp, err := w.Client.Do(req)
		if err != nil {
			all = append(all, err)
			continue
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		err = remoteError(at, resp)
		_ = resp.Body.Close() // it was only read from
		if !errors.Is(err, errStandby) {
			return nil, err
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

var errStandby = errors.New("the NameNode is standby")

// remoteError reads the exception of an answer.
func remoteError(at localizer.Location, resp *http.Response) error {
	var answer struct {
		RemoteException struct{ Exception, Message string }
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return statusError(at, resp)
	}
	message, _, _ := strings.Cut(answer.RemoteException.Message, "\n")
	switch answer.RemoteException.Exception {
	case "FileNotFoundException":
		return missing(at)
	case "AccessControlException":
		return fmt.Errorf("%s: %w", message, fs.ErrPermission)
	case "StandbyException":
		return errStandby
	case "":
		return statusError(at, resp)
	}
	return fmt.Errorf("%s: %s: %s", at, answer.RemoteException.Exception, message)
}

// fileStatus is WebHDFS's description of a file.
type fileStatus struct {
	PathSuffix       string `json:"pathSuffix"`
	Length           int64  `json:"length"`
	ModificationTime int64  `json:"modificationTime"`
	Permission       string `json:"permission"`
	Type             string `json:"type"`
}

func (s fileStatus) info(name string) (localizer.Info, error) {
	mode, err := strconv.ParseUint(s.Permission, 8, 16)
	if err != nil {
		return localizer.Info{}, fmt.Errorf("%q is not a permission", s.Permission)
	}
	info := localizer.Info{Name: name, Size: s.Length, ModTime: s.ModificationTime, Mode: fs.FileMode(mode & 0o777)}
	if s.Type == "DIRECTORY" {
		info.Mode |= fs.ModeDir
	}
	return info, nil
}

// Stat implements localizer.Source.
func (w WebHDFS) Stat(ctx context.Context, by localizer.Reader, at localizer.Location) (localizer.Info, error) {
	resp, err := w.ask(ctx, by, at, "GETFILESTATUS")
	if err != nil {
		return localizer.Info{}, err
	}
	defer resp.Body.Close()
	var answer struct{ FileStatus fileStatus }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&answer); err != nil {
		return localizer.Info{}, fmt.Errorf("%s: %w", at, err)
	}
	return answer.FileStatus.info(at.Name())
}

// Open implements localizer.Source.
func (w WebHDFS) Open(ctx context.Context, by localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	resp, err := w.ask(ctx, by, at, "OPEN")
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// List implements localizer.Source.
func (w WebHDFS) List(ctx context.Context, by localizer.Reader, at localizer.Location) ([]localizer.Info, error) {
	resp, err := w.ask(ctx, by, at, "LISTSTATUS")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		FileStatuses struct{ FileStatus []fileStatus }
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	var all []localizer.Info
	for _, s := range answer.FileStatuses.FileStatus {
		info, err := s.info(s.PathSuffix)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		all = append(all, info)
	}
	return all, nil
}
