// MRPT's driver for the SICK LMS 2xx as a driver under test: scans as the kit's JSON.
//
//   menura test scanner -- sick_mrpt TTY
//
// The driver is begun anew when it says that it failed, as a supervisor would.

#include <mrpt/hwdrivers/CSickLaserSerial.h>
#include <mrpt/obs/CObservation2DRangeScan.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <thread>

using mrpt::obs::CObservation2DRangeScan;

static void print(const CObservation2DRangeScan& scan)
{
    const std::size_t count = scan.getScanSize();
    const double first = (scan.rightToLeft ? -0.5 : 0.5) * scan.aperture;
    const double step = (scan.rightToLeft ? 1.0 : -1.0) * scan.aperture / (count - 1.0);
    std::printf("{\"event\": \"points\", \"points\": [");
    bool is_first = true;
    for (std::size_t i = 0; i < count; ++i) {
        if (!scan.getScanRangeValidity(i))
            continue;
        const double angle = first + i * step, range = scan.getScanRange(i);
        std::printf("%s[%.3f, %.3f, 0.0]", is_first ? "" : ", ", range * std::cos(angle), range * std::sin(angle));
        is_first = false;
    }
    std::puts("]}");
    std::fflush(stdout);
}

static void scan_until_it_fails(const char* port)
{
    mrpt::hwdrivers::CSickLaserSerial laser;
    laser.setSerialPort(port);
    laser.setBaudRate(38400);
    laser.setMillimeterMode(false);
    laser.setScanFOV(180);
    laser.setScanResolution(100);
    laser.initialize();
    for (;;) {
        bool there_is_one = false, failed = false;
        CObservation2DRangeScan scan;
        laser.doProcessSimple(there_is_one, scan, failed);
        if (failed)
            throw std::runtime_error("the driver gave up");
        if (there_is_one)
            print(scan);
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "one argument, see the source\n");
        return 2;
    }
    for (;;) {
        try {
            scan_until_it_fails(argv[1]);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "again, after: %s\n", error.what());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}
