package hadooplab

import (
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
)

//go:embed kms.xml
var kmsPOM []byte

// StartKMS starts Hadoop's Key Management Server at a host:port, beside a lab. site has further settings of kms-site.xml and kms-acls.xml, core those of its core-site.xml. It is ready
// when it answers a request without credentials, with what it has or with a refusal.
func StartKMS(t *testing.T, l *Lab, at string, site, core map[string]string) {
	t.Helper()
	jars, err := Maven(t.Context(), "kms", kmsPOM)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	host, port, _ := strings.Cut(at, ":")
	all := []property{
		{"hadoop.kms.key.provider.uri", "jceks://file" + dir + "/keys.jceks"},
		{"hadoop.kms.key.authorization.enable", "false"},
		{"hadoop.kms.http.host", host},
		{"hadoop.kms.http.port", port},
	}
	var acls []property
	for k, v := range site {
		if strings.HasPrefix(k, "hadoop.kms.acl.") || strings.HasPrefix(k, "hadoop.kms.blacklist.") {
			acls = append(acls, property{k, v})
		} else {
			all = append(all, property{k, v})
		}
	}
	common := []property{{"hadoop.tmp.dir", dir}}
	for k, v := range core {
		common = append(common, property{k, v})
	}
	for name, settings := range map[string][]property{"kms-site.xml": all, "kms-acls.xml": acls, "core-site.xml": common} {
		if err := writeSite(filepath.Join(dir, name), settings); err != nil {
			t.Fatal(err)
		}
	}
	cmd := l.JavaCommand(dir+":"+filepath.Join(jars, "*"), "org.apache.hadoop.crypto.key.kms.server.KMSWebServer")
	cmd.Env = append(cmd.Env, fmt.Sprintf("JAVA_TOOL_OPTIONS=%s -Dkms.config.dir=%s -Dkms.log.dir=%s -Dlog4j.configuration=file:%s", os.Getenv("JAVA_TOOL_OPTIONS"), dir, dir, filepath.Join(l.Conf(), "log4j.properties")))
	kms, err := l.BeginCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	kms.EndWith(t)
	await.Slowly(t, "the Key Management Server answers", func() bool {
		if said := kms.Stderr(); kms.Ended() || strings.Contains(said, `Exception in thread "main"`) {
			t.Fatalf("it hasn't started: %s", said)
		}
		r, err := http.Get("http://" + at + "/kms/v1/keys/names?user.name=root")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK || r.StatusCode == http.StatusUnauthorized
	})
}
