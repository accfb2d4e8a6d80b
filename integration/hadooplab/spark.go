package hadooplab

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// SparkVersion is the version that Spark returns.
const SparkVersion = "4.0.1"

// Spark returns the folder in which Spark is installed ($SPARK_HOME); the first time it is fetched from PyPI (400 MB).
func Spark(ctx context.Context) (string, error) {
	dir, err := Cached(ctx, "spark-"+SparkVersion, "site", func(ctx context.Context, _, partial string) error {
		pip := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", partial, "pyspark=="+SparkVersion)
		if out, err := pip.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", pip, err, out)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("fetching Spark: %w", err)
	}
	return filepath.Join(dir, "pyspark"), nil
}
