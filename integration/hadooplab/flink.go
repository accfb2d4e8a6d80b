package hadooplab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// FlinkVersion is the version of Flink that jobs use.
const FlinkVersion = "2.2.1"

// flinkConf keeps processes small.
const flinkConf = `
env.java.opts.all: >-
  -XX:TieredStopAtLevel=1
  --add-exports=java.base/sun.net.util=ALL-UNNAMED
  --add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED
  --add-opens=java.base/java.lang=ALL-UNNAMED
  --add-opens=java.base/java.lang.reflect=ALL-UNNAMED
  --add-opens=java.base/java.net=ALL-UNNAMED
  --add-opens=java.base/java.io=ALL-UNNAMED
  --add-opens=java.base/java.nio=ALL-UNNAMED
  --add-opens=java.base/java.text=ALL-UNNAMED
  --add-opens=java.base/java.time=ALL-UNNAMED
  --add-opens=java.base/java.util=ALL-UNNAMED
  --add-opens=java.base/java.util.concurrent=ALL-UNNAMED
  --add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED
  --add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED
jobmanager.memory.process.size: 1024m
taskmanager.memory.process.size: 1024m
taskmanager.memory.managed.size: 64m
taskmanager.memory.jvm-metaspace.size: 128m
`

const flinkLog = `
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n
`

// Flink writes Flink's configuration into a folder, with further lines of config.yaml, and returns the folder of its jars. The first time it downloads Flink from PyPI (300 MB).
func Flink(ctx context.Context, conf, more string) (lib string, err error) {
	dir, err := PyPI(ctx, "flink-"+FlinkVersion, "--no-deps", "apache-flink-libraries=="+FlinkVersion)
	if err != nil {
		return "", fmt.Errorf("fetching Flink: %w", err)
	}
	return filepath.Join(dir, "pyflink", "lib"), errors.Join(
		os.WriteFile(filepath.Join(conf, "config.yaml"), []byte(flinkConf+more), 0o644), os.WriteFile(filepath.Join(conf, "log4j.properties"), []byte(flinkLog), 0o644))
}
