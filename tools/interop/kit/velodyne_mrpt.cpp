// MRPT's driver for Velodynes as a driver under test: turns as the kit's JSON.
//
//   menura test lidar -- velodyne_mrpt PORT POSITION_PORT SENSOR_ADDRESS
//
// It goes on as rawlog-grabber does: it asks for the next observation and ends when the driver says that it failed.

#include <mrpt/hwdrivers/CVelodyneScanner.h>
#include <mrpt/obs/CObservationGPS.h>
#include <mrpt/obs/CObservationVelodyneScan.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

using mrpt::hwdrivers::CVelodyneScanner;
using mrpt::obs::CObservationGPS;
using mrpt::obs::CObservationVelodyneScan;

static void print(CObservationVelodyneScan& scan)
{
    scan.generatePointCloud();
    const auto& points = scan.point_cloud;
    std::printf("{\"event\": \"points\"");
    if (scan.has_satellite_timestamp)
        std::printf(", \"stamp_s\": %.6f", mrpt::Clock::toDouble(scan.timestamp));
    std::printf(", \"points\": [");
    // A part will do, and takes less time than all.
    for (std::size_t i = 0; i < points.size(); i += 31)
        std::printf("%s[%.3f, %.3f, %.3f]", i == 0 ? "" : ", ", points.x[i], points.y[i], points.z[i]);
    std::puts("]}");
    std::fflush(stdout);
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "three arguments, see the source\n");
        return 2;
    }
    try {
        CVelodyneScanner::VELODYNE_DATA_UDP_PORT = static_cast<short>(std::atoi(argv[1]));
        CVelodyneScanner::VELODYNE_POSITION_UDP_PORT = static_cast<short>(std::atoi(argv[2]));
        CVelodyneScanner driver;
        driver.setModelName(CVelodyneScanner::VLP16);
        driver.setDeviceIP(argv[3]);
        driver.initialize();
        std::puts("{\"event\": \"ready\"}");
        std::fflush(stdout);
        for (;;) {
            CObservationVelodyneScan::Ptr scan;
            CObservationGPS::Ptr position;
            if (!driver.getNextObservation(scan, position)) {
                std::fprintf(stderr, "the driver gave up\n");
                return 1;
            }
            if (scan)
                print(*scan);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
